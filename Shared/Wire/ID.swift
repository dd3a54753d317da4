/// An identifier that cannot be confused with one of another type.
///
/// `Raw` is the type in JSON and in rows: `Int64` where a seed has a number (below 2^53), otherwise `String` or `UUID`.
package struct ID<Subject, Raw: Hashable & Sendable>: RawRepresentable, Hashable, Sendable {
    package let rawValue: Raw

    package init(rawValue: Raw) {
        self.rawValue = rawValue
    }

    package init(_ rawValue: Raw) {
        self.rawValue = rawValue
    }
}

extension ID: Comparable where Raw: Comparable {
    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension ID: CustomStringConvertible {
    package var description: String { "\(rawValue)" }
}

extension ID: Decodable where Raw: Decodable {
    package init(from decoder: any Decoder) throws {
        self.init(rawValue: try decoder.singleValueContainer().decode(Raw.self))
    }
}

extension ID: Encodable where Raw: Encodable {
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}
