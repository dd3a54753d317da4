import CLibpq

/// The rows that a statement returned.
public struct PostgresResult: Sendable, RandomAccessCollection {
    let resultHandle: ResultHandle

    /// The index of the first row: 0.
    public var startIndex: Int { 0 }

    /// The number of rows.
    public var endIndex: Int { Int(resultHandle.rows) }

    /// The number of rows that the statement inserted, updated, deleted or selected; 0 for other statements.
    public var affectedRows: Int {
        PQcmdTuples(resultHandle.result).flatMap { Int(String(cString: $0)) } ?? 0
    }

    /// The names of the columns in order.
    public var columnNames: [String] {
        (0..<resultHandle.columns).map { resultHandle.name(of: $0) }
    }

    /// The row at an index from 0; an index out of range traps.
    public subscript(position: Int) -> PostgresRow {
        precondition(position >= 0 && position < endIndex, "row \(position) of \(endIndex)")
        return PostgresRow(resultHandle: resultHandle, row: Int32(position))
    }

    /// The server's command tag: `SELECT 1`, `COMMIT`.
    var commandTag: String {
        PQcmdStatus(resultHandle.result).map { String(cString: $0) } ?? ""
    }
}
