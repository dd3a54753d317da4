public import Foundation

/// A Swift value of which an array can be bound and read.
///
/// `[String]`, `[Int]`, `[UUID?]` and their like are PostgreSQL's one-dimensional arrays; `[UInt8]` is `bytea`.
/// A type that is both ``PostgresEncodable`` and ``PostgresDecodable`` needs only ``postgresArrayType``.
public protocol PostgresArrayElement: Sendable {
    /// The type of an array of these.
    static var postgresArrayType: PostgresType { get }

    /// An array of these in binary format.
    static func encodeArray(_ elements: [Self]) -> [UInt8]

    /// An array of these from a cell.
    static func decodeArray(_ cell: PostgresCell) throws -> [Self]
}

extension PostgresArrayElement where Self: PostgresEncodable & PostgresDecodable {
    public static func encodeArray(_ elements: [Self]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(20 + elements.count * 12)
        bytes.append(contentsOf: Int32(elements.isEmpty ? 0 : 1).networkBytes)  // dimensions
        let flags = bytes.count
        bytes.append(contentsOf: Int32(0).networkBytes)  // 1 where there is a NULL
        bytes.append(contentsOf: postgresType.rawValue.networkBytes)
        if elements.isEmpty { return bytes }
        bytes.append(contentsOf: Int32(clamping: elements.count).networkBytes)
        bytes.append(contentsOf: Int32(1).networkBytes)  // the first index
        for element in elements {
            guard let encoded = element.encode() else {
                bytes[flags + 3] = 1
                bytes.append(contentsOf: Int32(-1).networkBytes)
                continue
            }
            bytes.append(contentsOf: Int32(clamping: encoded.count).networkBytes)
            bytes.append(contentsOf: encoded)
        }
        return bytes
    }

    public static func decodeArray(_ cell: PostgresCell) throws -> [Self] {
        try cell.elements { try Self(postgres: $0) }
    }
}

extension Bool: PostgresArrayElement {
    public static var postgresArrayType: PostgresType { .boolArray }
}

extension Int: PostgresArrayElement {
    public static var postgresArrayType: PostgresType { .int8Array }
}

extension Int64: PostgresArrayElement {
    public static var postgresArrayType: PostgresType { .int8Array }
}

extension Int32: PostgresArrayElement {
    public static var postgresArrayType: PostgresType { .int4Array }
}

extension Int16: PostgresArrayElement {
    public static var postgresArrayType: PostgresType { .int2Array }
}

extension Double: PostgresArrayElement {
    public static var postgresArrayType: PostgresType { .float8Array }
}

extension Float: PostgresArrayElement {
    public static var postgresArrayType: PostgresType { .float4Array }
}

extension String: PostgresArrayElement {
    public static var postgresArrayType: PostgresType { .textArray }
}

extension UUID: PostgresArrayElement {
    public static var postgresArrayType: PostgresType { .uuidArray }
}

extension Data: PostgresArrayElement {
    public static var postgresArrayType: PostgresType { .byteaArray }
}

extension Date: PostgresArrayElement {
    public static var postgresArrayType: PostgresType { .timestamptzArray }
}

extension PostgresJSON: PostgresArrayElement {
    public static var postgresArrayType: PostgresType { .jsonbArray }
}

extension Optional: PostgresArrayElement where Wrapped: PostgresArrayElement & PostgresEncodable & PostgresDecodable {
    public static var postgresArrayType: PostgresType { Wrapped.postgresArrayType }
}

/// A byte is no type of PostgreSQL's; an array of bytes is `bytea`.
extension UInt8: PostgresArrayElement {
    public static var postgresArrayType: PostgresType { .bytea }

    public static func encodeArray(_ elements: [UInt8]) -> [UInt8] {
        elements
    }

    public static func decodeArray(_ cell: PostgresCell) throws -> [UInt8] {
        try cell.expect(.bytea, as: [UInt8].self)
        return cell.bytes
    }
}

extension Array: PostgresEncodable where Element: PostgresArrayElement {
    public static var postgresType: PostgresType { Element.postgresArrayType }

    public func encode() -> [UInt8]? {
        Element.encodeArray(self)
    }
}

extension Array: PostgresDecodable where Element: PostgresArrayElement {
    public init(postgres cell: PostgresCell) throws {
        try cell.expectValue(as: Self.self)
        self = try Element.decodeArray(cell)
    }
}

/// An array of `bytea`; deeper arrays are not PostgreSQL's.
extension Array: PostgresArrayElement where Element == UInt8 {
    public static var postgresArrayType: PostgresType { .byteaArray }
}
