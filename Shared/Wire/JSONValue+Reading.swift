/// Access to JSON of unknown structure: missing values and values of another type are nil.
extension JSONValue {
    /// The value of an object's field; nil for other values, missing fields and null.
    // Tests define a subscript that returns null instead of nil, which must win the overload resolution.
    @_disfavoredOverload
    package subscript(name: String) -> JSONValue? {
        guard case .object(let fields) = self, let value = fields[name], value != .null else { return nil }
        return value
    }

    /// The string, if the value is one.
    package var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The integer, if the value is one.
    package var whole: Int64? {
        guard case .integer(let whole) = self else { return nil }
        return whole
    }
}
