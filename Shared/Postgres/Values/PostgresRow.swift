public import Foundation

/// One row of an answer, read column by column.
///
/// Every read names a column and a type, and throws an error that names the column when it is not there, is NULL or is
/// of another type. Where two columns have one name, the first is read.
public struct PostgresRow: Sendable {
    let resultHandle: ResultHandle
    let row: Int32

    /// How many columns there are.
    public var count: Int { Int(resultHandle.columns) }

    /// The value in a column, by name.
    public func cell(_ column: String) throws -> PostgresCell {
        guard let index = resultHandle.column(named: column) else {
            throw PostgresError.decoding(column: column, "is not in the answer")
        }
        return resultHandle.cell(row: row, column: index)
    }

    /// The value in a column, by its place from 0; for hot paths, since no name is looked up.
    public func cell(at column: Int) throws -> PostgresCell {
        guard column >= 0, column < count else {
            throw PostgresError.decoding(column: "number \(column)", "is not in the answer, which has \(count)")
        }
        return resultHandle.cell(row: row, column: Int32(column))
    }

    /// Reads a column as the type asked for.
    public func decode<Value: PostgresDecodable>(_ column: String, as type: Value.Type = Value.self) throws -> Value {
        try Value(postgres: cell(column))
    }

    /// Reads a column, by its place from 0, as the type asked for.
    public func decode<Value: PostgresDecodable>(at column: Int, as type: Value.Type = Value.self) throws -> Value {
        try Value(postgres: cell(at: column))
    }

    /// Reads a column that may be NULL.
    public func decodeIfPresent<Value: PostgresDecodable>(
        _ column: String,
        as type: Value.Type = Value.self
    ) throws -> Value? {
        let cell = try cell(column)
        return cell.isNull ? nil : try Value(postgres: cell)
    }

    /// Reads a column that may be NULL, by its place from 0.
    public func decodeIfPresent<Value: PostgresDecodable>(
        at column: Int,
        as type: Value.Type = Value.self
    ) throws -> Value? {
        let cell = try cell(at: column)
        return cell.isNull ? nil : try Value(postgres: cell)
    }
}

// By name and type, in the words a store reads best in.
extension PostgresRow {
    /// A `bool`.
    public func bool(_ column: String) throws -> Bool { try decode(column) }

    /// An `int2`, `int4` or `int8`.
    public func int(_ column: String) throws -> Int { try decode(column) }

    /// An `int2`, `int4` or `int8`.
    public func int64(_ column: String) throws -> Int64 { try decode(column) }

    /// An `int2` or `int4`, or an `int8` that fits.
    public func int32(_ column: String) throws -> Int32 { try decode(column) }

    /// A `float4` or `float8`.
    public func double(_ column: String) throws -> Double { try decode(column) }

    /// A `text`, `varchar`, `char(n)`, `name` or `json`.
    public func string(_ column: String) throws -> String { try decode(column) }

    /// A `timestamptz`.
    public func date(_ column: String) throws -> Date { try decode(column) }

    /// A `uuid`.
    public func uuid(_ column: String) throws -> UUID { try decode(column) }

    /// A `bytea`.
    public func bytes(_ column: String) throws -> [UInt8] { try decode(column) }

    /// The text of a `json` or `jsonb`.
    public func json(_ column: String) throws -> String { try decode(column, as: PostgresJSON.self).text }

    /// A `bool` that may be NULL.
    public func optionalBool(_ column: String) throws -> Bool? { try decodeIfPresent(column) }

    /// An integer that may be NULL.
    public func optionalInt(_ column: String) throws -> Int? { try decodeIfPresent(column) }

    /// An integer that may be NULL.
    public func optionalInt64(_ column: String) throws -> Int64? { try decodeIfPresent(column) }

    /// A `float4` or `float8` that may be NULL.
    public func optionalDouble(_ column: String) throws -> Double? { try decodeIfPresent(column) }

    /// A text that may be NULL.
    public func optionalString(_ column: String) throws -> String? { try decodeIfPresent(column) }

    /// A `timestamptz` that may be NULL.
    public func optionalDate(_ column: String) throws -> Date? { try decodeIfPresent(column) }

    /// A `uuid` that may be NULL.
    public func optionalUUID(_ column: String) throws -> UUID? { try decodeIfPresent(column) }

    /// A `bytea` that may be NULL.
    public func optionalBytes(_ column: String) throws -> [UInt8]? { try decodeIfPresent(column) }

    /// The text of a `json` or `jsonb` that may be NULL.
    public func optionalJSON(_ column: String) throws -> String? {
        try decodeIfPresent(column, as: PostgresJSON.self)?.text
    }

    /// An array of texts without NULL in it.
    public func strings(_ column: String) throws -> [String] { try decode(column) }

    /// An array of integers without NULL in it.
    public func ints(_ column: String) throws -> [Int] { try decode(column) }

    /// An array of `uuid` without NULL in it.
    public func uuids(_ column: String) throws -> [UUID] { try decode(column) }
}
