/// A name and its value in a query or in a body of `application/x-www-form-urlencoded`.
///
/// Names may come twice and their order is kept, which a dictionary could not tell.
public struct FormField: Hashable, Sendable {
    public let name: String
    public let value: String

    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// The fields of a query or a form; a name without an equals sign has an empty value.
    public static func parse(_ text: some StringProtocol) -> [FormField] {
        // By bytes: splitting characters takes the square of the combining marks in a row.
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
    /// As a query or the body of a form, spaces as `%20`: every reader takes that, and not every one a plus sign.
    public var encoded: String {
        map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
    }

    /// The first value of that name.
    public subscript(_ name: String) -> String? { first { $0.name == name }?.value }
}
