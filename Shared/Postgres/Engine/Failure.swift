import CLibpq

/// An error result, read out.
struct Failure {
    /// What the server said; nil when it was libpq that failed.
    let report: PostgresError.Report?
    /// What was said, in one line.
    let message: String
    /// Whether the server closes the connection over it.
    let isFatal: Bool
    /// Whether a prepared statement is out of date since a table changed; the wording depends on the server's language,
    /// the place in its source does not.
    let isStalePlan: Bool

    init(_ result: OpaquePointer) {
        let field = { (code: Character) in
            PQresultErrorField(result, Int32(code.asciiValue ?? 0)).map { String(cString: $0) }
        }
        let message = field("M") ?? Connection.oneLine(PQresultErrorMessage(result))
        self.message = message
        // V is S in English whatever the server's language
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
