import Testing

/// Waits until `condition` holds; fails the test after thirty seconds.
func eventually(_ condition: () async -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    let end = ContinuousClock.now + .seconds(30)
    while ContinuousClock.now < end {
        if await condition() { return }
        try await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("it did not come about", sourceLocation: sourceLocation)
}
