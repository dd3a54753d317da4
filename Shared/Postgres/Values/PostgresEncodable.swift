public import Foundation

/// A Swift value that can be bound to a statement.
public protocol PostgresEncodable: Sendable {
    /// The PostgreSQL type under which the value is sent.
    static var postgresType: PostgresType { get }

    /// Returns the value in PostgreSQL's binary format, or nil for NULL.
    func encode() -> [UInt8]?
}

/// A JSON document as text, bound as `jsonb` and decoded from `json` and `jsonb`.
///
/// The text is neither parsed nor changed in the client; PostgreSQL rejects invalid JSON (SQLSTATE 22P02).
public struct PostgresJSON: Hashable, Sendable {
    /// The text of the document.
    public var text: String

    /// Creates a document from its text, without validation.
    public init(text: String) {
        self.text = text
    }
}

extension FixedWidthInteger {
    /// The bytes in network order, most significant first.
    @inline(__always)
    var networkBytes: [UInt8] {
        withUnsafeBytes(of: bigEndian) { Array($0) }
    }
}

extension Bool: PostgresEncodable {
    public static var postgresType: PostgresType { .bool }
    public func encode() -> [UInt8]? { [self ? 1 : 0] }
}

extension Int: PostgresEncodable {
    public static var postgresType: PostgresType { .int8 }
    public func encode() -> [UInt8]? { Int64(self).networkBytes }
}

extension Int64: PostgresEncodable {
    public static var postgresType: PostgresType { .int8 }
    public func encode() -> [UInt8]? { networkBytes }
}

extension Int32: PostgresEncodable {
    public static var postgresType: PostgresType { .int4 }
    public func encode() -> [UInt8]? { networkBytes }
}

extension Int16: PostgresEncodable {
    public static var postgresType: PostgresType { .int2 }
    public func encode() -> [UInt8]? { networkBytes }
}

extension Double: PostgresEncodable {
    public static var postgresType: PostgresType { .float8 }
    public func encode() -> [UInt8]? { bitPattern.networkBytes }
}

extension Float: PostgresEncodable {
    public static var postgresType: PostgresType { .float4 }
    public func encode() -> [UInt8]? { bitPattern.networkBytes }
}

extension String: PostgresEncodable {
    public static var postgresType: PostgresType { .text }
    public func encode() -> [UInt8]? { Array(utf8) }
}

extension Substring: PostgresEncodable {
    public static var postgresType: PostgresType { .text }
    public func encode() -> [UInt8]? { Array(utf8) }
}

extension UUID: PostgresEncodable {
    public static var postgresType: PostgresType { .uuid }
    public func encode() -> [UInt8]? { withUnsafeBytes(of: uuid) { Array($0) } }
}

extension Data: PostgresEncodable {
    public static var postgresType: PostgresType { .bytea }
    public func encode() -> [UInt8]? { Array(self) }
}

extension PostgresJSON: PostgresEncodable {
    public static var postgresType: PostgresType { .jsonb }

    public func encode() -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 1)
        bytes.append(1)  // the version of jsonb's binary format
        bytes.append(contentsOf: text.utf8)
        return bytes
    }
}

extension Date: PostgresEncodable {
    /// The seconds between the epochs of PostgreSQL (2000-01-01) and of `Date` (2001-01-01).
    static let postgresEpochOffset: Double = 366 * 86_400

    public static var postgresType: PostgresType { .timestamptz }

    /// Returns the microseconds since 2000-01-01; dates outside PostgreSQL's range become `infinity` or `-infinity`.
    public func encode() -> [UInt8]? {
        let microseconds = ((timeIntervalSinceReferenceDate + Self.postgresEpochOffset) * 1_000_000).rounded()
        // PostgreSQL's range is 4714-11-24 BC to 294277-01-01.
        if microseconds < -211_813_488_000_000_000 { return Int64.min.networkBytes }
        guard microseconds < 9_223_371_331_200_000_000 else { return Int64.max.networkBytes }
        return Int64(microseconds).networkBytes
    }
}

extension Optional: PostgresEncodable where Wrapped: PostgresEncodable {
    public static var postgresType: PostgresType { Wrapped.postgresType }

    public func encode() -> [UInt8]? {
        switch self {
        case .some(let value): value.encode()
        case .none: nil
        }
    }
}
