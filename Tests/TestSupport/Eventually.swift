/// Asks again until it is so.
///
/// - Throws: `TestSupportError` where it was not so in all that time.
package func eventually(
    within limit: Duration = .seconds(20),
    _ what: String = "so",
    _ isSo: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while try await !isSo() {
        guard .now < deadline else { throw TestSupportError("it was not \(what) in \(limit)") }
        try await ContinuousClock().sleep(for: .milliseconds(2))
    }
}
