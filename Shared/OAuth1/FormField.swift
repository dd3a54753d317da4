/// A name and a value in a query or an `application/x-www-form-urlencoded` body.
///
/// Fields are ordered and names may repeat, which a dictionary could not represent.
public struct FormField: Hashable, Sendable {
    /// The decoded name.
    public let name: String
    /// The decoded value.
    public let value: String

    /// Creates a field.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// Parses the fields of a query or a form; a name without an equals sign has an empty value.
    public static func parse(_ text: some StringProtocol) -> [FormField] {
        // Splits by bytes: splitting by characters takes quadratic time in a run of combining marks.
        Substring(text).utf8.split(separator: UInt8(ascii: "&")).map { pair in
            let sides = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                .map { Substring($0) }
            return FormField(
                PercentEncoding.decode(sides[0], plusIsSpace: true),
                sides.count == 2 ? PercentEncoding.decode(sides[1], plusIsSpace: true) : ""
            )
        }
    }
}

extension Sequence<FormField> {
    /// The fields as a query or form body; spaces become `%20`, since some servers do not decode a plus sign.
    public var encoded: String {
        map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
    }

    /// The first value of a name; nil if it is missing.
    public subscript(_ name: String) -> String? { first { $0.name == name }?.value }
}
