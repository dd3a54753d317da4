/// Polls a condition until it is true.
///
/// The default limit is long, for busy machines.
///
/// - Throws: `TestSupportError` when the condition is still false at the limit.
package func eventually(
    within limit: Duration = .seconds(60),
    _ expectation: String = "true",
    _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while try await !condition() {
        guard .now < deadline else { throw TestSupportError("not \(expectation) within \(limit)") }
        try await ContinuousClock().sleep(for: .milliseconds(2))
    }
}
