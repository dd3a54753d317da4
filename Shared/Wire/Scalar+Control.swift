extension Unicode.Scalar {
    /// Whether the scalar is a control character, a line or paragraph separator, or changes the direction of text.
    package var isControl: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: (0x202A...0x202E).contains(value) || (0x2066...0x2069).contains(value)
        }
    }
}
