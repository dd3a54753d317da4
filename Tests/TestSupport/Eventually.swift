/// Asks again until it is so; it may be long until it is, on a machine that has other things to do.
///
/// - Throws: `TestSupportError` where it was not so in all that time.
package func eventually(
    within limit: Duration = .seconds(60),
    _ what: String = "so",
    _ isSo: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while try await !isSo() {
        guard .now < deadline else { throw TestSupportError("it was not \(what) in \(limit)") }
        try await ContinuousClock().sleep(for: .milliseconds(2))
    }
}
