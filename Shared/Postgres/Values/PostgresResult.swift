import CLibpq

/// The rows a statement answered.
public struct PostgresResult: Sendable, RandomAccessCollection {
    let resultHandle: ResultHandle

    /// The index of the first row.
    public var startIndex: Int { 0 }

    /// The number of rows.
    public var endIndex: Int { Int(resultHandle.rows) }

    /// How many rows were inserted, changed, deleted or selected; 0 for a statement that does none of it.
    public var affectedRows: Int {
        PQcmdTuples(resultHandle.result).flatMap { Int(String(cString: $0)) } ?? 0
    }

    /// The names of the columns in their order.
    public var columnNames: [String] {
        (0..<resultHandle.columns).map { resultHandle.name(of: $0) }
    }

    /// A row by its place from 0.
    public subscript(position: Int) -> PostgresRow {
        precondition(position >= 0 && position < endIndex, "row \(position) of \(endIndex)")
        return PostgresRow(resultHandle: resultHandle, row: Int32(position))
    }

    /// What the statement was: `SELECT 1`, `COMMIT`.
    var commandTag: String {
        PQcmdStatus(resultHandle.result).map { String(cString: $0) } ?? ""
    }
}
