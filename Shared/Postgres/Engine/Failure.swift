import CLibpq

/// The fields of an error result.
struct Failure {
    /// The server's error report; nil if libpq failed.
    let report: PostgresError.Report?
    /// The error message in one line.
    let message: String
    /// Whether the server closes the connection because of the error.
    let isFatal: Bool
    /// Whether a prepared statement is stale because a table changed.
    ///
    /// The message depends on the server's language, so the source function's name is checked.
    let isStalePlan: Bool

    init(_ result: OpaquePointer) {
        let field = { (code: Character) in
            PQresultErrorField(result, Int32(code.asciiValue ?? 0)).map { String(cString: $0) }
        }
        let message = field("M") ?? Connection.oneLine(PQresultErrorMessage(result))
        self.message = message
        // Field V holds the severity in English; field S is localized.
        isFatal = ["FATAL", "PANIC"].contains(field("V") ?? field("S") ?? "")
        isStalePlan = field("C") == "0A000" && field("R") == "RevalidateCachedQuery"
        report = field("C").map { state in
            PostgresError.Report(
                sqlState: state,
                message: message,
                detail: field("D"),
                hint: field("H"),
                constraint: field("n"),
                schema: field("s"),
                table: field("t"),
                column: field("c")
            )
        }
    }
}
