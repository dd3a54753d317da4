/// Asks again until it is so; it may be long until it is, on a machine that has other things to do.
///
/// - Throws: `TestSupportError` where it was not so in all that time.
package func eventually(
    within limit: Duration = .seconds(60),
    _ expectation: String = "so",
    _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while try await !condition() {
        guard .now < deadline else { throw TestSupportError("it was not \(expectation) in \(limit)") }
        try await ContinuousClock().sleep(for: .milliseconds(2))
    }
}
