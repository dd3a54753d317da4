final class Segment: @unchecked Sendable {
    init(_ statements: [PostgresQuery], timeout: Duration) throws {}
}
