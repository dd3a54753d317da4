import CLibpq
import Glibc

/// The result of one statement, freed when no row refers to it.
final class ResultHandle: @unchecked Sendable {
    // Unchecked: libpq guarantees that a PGresult is read-only and can be shared between threads.
    let result: OpaquePointer
    let rows: Int32
    let columns: Int32

    init(_ result: OpaquePointer) {
        self.result = result
        rows = PQntuples(result)
        columns = PQnfields(result)
    }

    deinit {
        PQclear(result)
    }

    /// Returns the index of the first column with this name, or nil.
    func column(named name: String) -> Int32? {
        // Results have few columns: a linear search costs less than a dictionary.
        name.withCString { wanted in
            for column in 0..<columns where strcmp(PQfname(result, column), wanted) == 0 {
                return column
            }
            return nil
        }
    }

    func name(of column: Int32) -> String {
        PQfname(result, column).map { String(cString: $0) } ?? "column \(column)"
    }

    @inline(__always)
    func cell(row: Int32, column: Int32) -> PostgresCell {
        let isNull = PQgetisnull(result, row, column) != 0
        return PostgresCell(
            resultHandle: self,
            column: column,
            base: isNull ? nil : UnsafeRawPointer(PQgetvalue(result, row, column)),
            count: isNull ? 0 : Int(PQgetlength(result, row, column)),
            type: PostgresType(rawValue: PQftype(result, column))
        )
    }
}
