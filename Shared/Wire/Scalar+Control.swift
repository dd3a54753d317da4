extension Unicode.Scalar {
    /// Control characters, line and paragraph separators, and those that turn the direction of writing around.
    package var isControl: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: (0x202A...0x202E).contains(value) || (0x2066...0x2069).contains(value)
        }
    }
}
