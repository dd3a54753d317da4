public import Foundation

/// An element type of arrays that can be bound and decoded.
///
/// `[String]`, `[Int]`, `[UUID?]` and similar types map to one-dimensional PostgreSQL arrays; `[UInt8]` maps to
/// `bytea`. A type that is both ``PostgresEncodable`` and ``PostgresDecodable`` only has to define
/// ``postgresArrayType``.
public protocol PostgresArrayElement: Sendable {
    /// The PostgreSQL type of an array of this type.
    static var postgresArrayType: PostgresType { get }

    /// Returns the array in PostgreSQL's binary format.
    static func encodeArray(_ elements: [Self]) -> [UInt8]

    /// Decodes an array from a cell, or throws a ``PostgresError`` that names the column.
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

/// Maps `[UInt8]` to `bytea`; PostgreSQL has no single-byte type.
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

/// Maps `[[UInt8]]` to an array of `bytea`. Multidimensional arrays are not supported.
extension Array: PostgresArrayElement where Element == UInt8 {
    public static var postgresArrayType: PostgresType { .byteaArray }
}
