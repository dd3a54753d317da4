public import Foundation

/// A Swift value that can be decoded from a column.
///
/// A conformance checks the column's type before it reads the bytes. A query that returns an unexpected type therefore
/// causes an error that names the column, never a wrong value.
public protocol PostgresDecodable {
    /// Decodes a cell, or throws a ``PostgresError`` that names its column.
    init(postgres cell: PostgresCell) throws
}

extension Bool: PostgresDecodable {
    public init(postgres cell: PostgresCell) throws {
        try cell.expect(.bool, as: Bool.self)
        self = try cell.integer(UInt8.self) != 0
    }
}

extension FixedWidthInteger {
    /// Decodes any of PostgreSQL's integer types if the value is in range.
    init(integer cell: PostgresCell) throws {
        let value: Int64
        switch cell.type {
        case .int8: value = try cell.integer(Int64.self)
        case .int4: value = Int64(try cell.integer(Int32.self))
        case .int2: value = Int64(try cell.integer(Int16.self))
        case .oid: value = Int64(try cell.integer(UInt32.self))
        default: throw cell.mismatch(Self.self)
        }
        guard let exact = Self(exactly: value) else {
            throw cell.error("is \(value), which is out of range for \(Self.self)")
        }
        self = exact
    }
}

extension Int: PostgresDecodable {
    public init(postgres cell: PostgresCell) throws { try self.init(integer: cell) }
}

extension Int64: PostgresDecodable {
    public init(postgres cell: PostgresCell) throws { try self.init(integer: cell) }
}

extension Int32: PostgresDecodable {
    public init(postgres cell: PostgresCell) throws { try self.init(integer: cell) }
}

extension Int16: PostgresDecodable {
    public init(postgres cell: PostgresCell) throws { try self.init(integer: cell) }
}

extension Double: PostgresDecodable {
    public init(postgres cell: PostgresCell) throws {
        switch cell.type {
        case .float8: self = Double(bitPattern: try cell.integer(UInt64.self))
        case .float4: self = Double(Float(bitPattern: try cell.integer(UInt32.self)))
        default: throw cell.mismatch(Double.self)
        }
    }
}

extension Float: PostgresDecodable {
    public init(postgres cell: PostgresCell) throws {
        try cell.expect(.float4, as: Float.self)
        self = Float(bitPattern: try cell.integer(UInt32.self))
    }
}

extension String: PostgresDecodable {
    public init(postgres cell: PostgresCell) throws {
        switch cell.type {
        case .text, .varchar, .bpchar, .name, .unknown, .json:
            self = try cell.text(dropping: 0)
        default: throw cell.mismatch(String.self)
        }
    }
}

extension PostgresJSON: PostgresDecodable {
    public init(postgres cell: PostgresCell) throws {
        switch cell.type {
        case .jsonb: text = try cell.text(dropping: 1)
        case .json: text = try cell.text(dropping: 0)
        default: throw cell.mismatch(PostgresJSON.self)
        }
    }
}

extension UUID: PostgresDecodable {
    public init(postgres cell: PostgresCell) throws {
        try cell.expect(.uuid, as: UUID.self)
        let bytes = try cell.fixed(16)
        self.init(uuid: bytes.loadUnaligned(as: uuid_t.self))
    }
}

extension Data: PostgresDecodable {
    public init(postgres cell: PostgresCell) throws {
        try cell.expect(.bytea, as: Data.self)
        self = cell.withUnsafeBytes { Data($0) }
    }
}

extension Date: PostgresDecodable {
    /// Decodes a `timestamptz`; `infinity` and `-infinity` become `distantFuture` and `distantPast`.
    ///
    /// These values can be formatted, so rows with infinite timestamps need no special handling.
    ///
    /// - Parameter cell: a cell of type `timestamptz`.
    /// - Throws: a ``PostgresError`` if the cell is NULL or has another type.
    public init(postgres cell: PostgresCell) throws {
        try cell.expect(.timestamptz, as: Date.self)
        let microseconds = try cell.integer(Int64.self)
        guard microseconds != .max, microseconds != .min else {
            self = microseconds == .max ? .distantFuture : .distantPast
            return
        }
        let seconds = Double(microseconds) / 1_000_000
        self.init(timeIntervalSinceReferenceDate: seconds - Self.postgresEpochOffset)
    }
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
    public init(postgres cell: PostgresCell) throws {
        self = cell.isNull ? nil : try Wrapped(postgres: cell)
    }
}
