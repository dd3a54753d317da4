public import Foundation

/// A row of a result, decoded column by column.
///
/// Each method names a column and a type. A missing column, a NULL or a different type throws a ``PostgresError`` that
/// names the column. If several columns have the same name, the first one is used.
public struct PostgresRow: Sendable {
    let resultHandle: ResultHandle
    let row: Int32

    /// The number of columns.
    public var count: Int { Int(resultHandle.columns) }

    /// Returns the cell of a column.
    public func cell(_ column: String) throws -> PostgresCell {
        guard let index = resultHandle.column(named: column) else {
            throw PostgresError.decoding(column: column, "is not in the result")
        }
        return resultHandle.cell(row: row, column: index)
    }

    /// Returns the cell of a column by its index from 0; avoids the lookup of a name in hot paths.
    public func cell(at column: Int) throws -> PostgresCell {
        guard column >= 0, column < count else {
            throw PostgresError.decoding(column: "number \(column)", "is not in the result, which has \(count) columns")
        }
        return resultHandle.cell(row: row, column: Int32(column))
    }

    /// Decodes a column.
    public func decode<Value: PostgresDecodable>(_ column: String, as type: Value.Type = Value.self) throws -> Value {
        try Value(postgres: cell(column))
    }

    /// Decodes a column by its index from 0.
    public func decode<Value: PostgresDecodable>(at column: Int, as type: Value.Type = Value.self) throws -> Value {
        try Value(postgres: cell(at: column))
    }

    /// Decodes a column, or returns nil for NULL.
    public func decodeIfPresent<Value: PostgresDecodable>(
        _ column: String,
        as type: Value.Type = Value.self
    ) throws -> Value? {
        let cell = try cell(column)
        return cell.isNull ? nil : try Value(postgres: cell)
    }

    /// Decodes a column by its index from 0, or returns nil for NULL.
    public func decodeIfPresent<Value: PostgresDecodable>(
        at column: Int,
        as type: Value.Type = Value.self
    ) throws -> Value? {
        let cell = try cell(at: column)
        return cell.isNull ? nil : try Value(postgres: cell)
    }
}

// Shorthands for common types, so that stores read well.
extension PostgresRow {
    /// Returns the value of a `bool` column.
    public func bool(_ column: String) throws -> Bool { try decode(column) }

    /// Returns the value of an `int2`, `int4` or `int8` column.
    public func int(_ column: String) throws -> Int { try decode(column) }

    /// Returns the value of an `int2`, `int4` or `int8` column.
    public func int64(_ column: String) throws -> Int64 { try decode(column) }

    /// Returns the value of an `int2` or `int4` column, or of an `int8` column if it is in range.
    public func int32(_ column: String) throws -> Int32 { try decode(column) }

    /// Returns the value of a `float4` or `float8` column.
    public func double(_ column: String) throws -> Double { try decode(column) }

    /// Returns the value of a `text`, `varchar`, `char(n)`, `name` or `json` column.
    public func string(_ column: String) throws -> String { try decode(column) }

    /// Returns the value of a `timestamptz` column.
    public func date(_ column: String) throws -> Date { try decode(column) }

    /// Returns the value of a `uuid` column.
    public func uuid(_ column: String) throws -> UUID { try decode(column) }

    /// Returns the value of a `bytea` column.
    public func bytes(_ column: String) throws -> [UInt8] { try decode(column) }

    /// Returns the text of a `json` or `jsonb` column.
    public func json(_ column: String) throws -> String { try decode(column, as: PostgresJSON.self).text }

    /// Returns the value of a `bool` column, or nil for NULL.
    public func optionalBool(_ column: String) throws -> Bool? { try decodeIfPresent(column) }

    /// Returns the value of an integer column, or nil for NULL.
    public func optionalInt(_ column: String) throws -> Int? { try decodeIfPresent(column) }

    /// Returns the value of an integer column, or nil for NULL.
    public func optionalInt64(_ column: String) throws -> Int64? { try decodeIfPresent(column) }

    /// Returns the value of a `float4` or `float8` column, or nil for NULL.
    public func optionalDouble(_ column: String) throws -> Double? { try decodeIfPresent(column) }

    /// Returns the value of a text column, or nil for NULL.
    public func optionalString(_ column: String) throws -> String? { try decodeIfPresent(column) }

    /// Returns the value of a `timestamptz` column, or nil for NULL.
    public func optionalDate(_ column: String) throws -> Date? { try decodeIfPresent(column) }

    /// Returns the value of a `uuid` column, or nil for NULL.
    public func optionalUUID(_ column: String) throws -> UUID? { try decodeIfPresent(column) }

    /// Returns the value of a `bytea` column, or nil for NULL.
    public func optionalBytes(_ column: String) throws -> [UInt8]? { try decodeIfPresent(column) }

    /// Returns the text of a `json` or `jsonb` column, or nil for NULL.
    public func optionalJSON(_ column: String) throws -> String? {
        try decodeIfPresent(column, as: PostgresJSON.self)?.text
    }

    /// Returns the value of an array column of texts; the array must not contain NULL.
    public func strings(_ column: String) throws -> [String] { try decode(column) }

    /// Returns the value of an array column of integers; the array must not contain NULL.
    public func ints(_ column: String) throws -> [Int] { try decode(column) }

    /// Returns the value of a `uuid[]` column; the array must not contain NULL.
    public func uuids(_ column: String) throws -> [UUID] { try decode(column) }
}
