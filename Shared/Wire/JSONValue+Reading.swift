/// Reading out of JSON of unknown shape: what is not there, or is something else, is nil.
extension JSONValue {
    /// A field of an object; nil for what is none, or null.
    // Tests have one that gives null instead of nothing, and mean that one where they have both.
    @_disfavoredOverload
    package subscript(name: String) -> JSONValue? {
        guard case .object(let fields) = self, let value = fields[name], value != .null else { return nil }
        return value
    }

    /// A string, as it is.
    package var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// A whole number, written as one.
    package var whole: Int64? {
        guard case .integer(let whole) = self else { return nil }
        return whole
    }
}
