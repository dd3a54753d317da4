final class Session: @unchecked Sendable {
    enum Kind { case transaction(PostgresIsolation), lane(statementTimeout: Duration) }
    init(_ kind: Kind) {}
    var failedRetryably: Bool { false }
}
