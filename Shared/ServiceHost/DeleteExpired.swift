/// How many failures a sweep goes past; where there are more, what it deletes in is likely to be away.
private let maximumFailures = 10

/// Removes what is due, round by round, and goes past what cannot be removed: that is left to the next sweep, and keeps
/// nothing else from going.
///
/// - Parameters:
///   - due: so many of what is due, the longest first.
///   - round: removes some of what is due but for these, and answers why it could not; nil where it is not the time.
/// - Throws: what a removal threw, once all others are done.
package func deleteExpired<Key: Hashable & Sendable>(
    _ due: (_ limit: Int) async throws -> [Key],
    _ round: (_ failed: Set<Key>) async throws -> [Key: any Error]?
) async throws {
    var failures: [Key: any Error] = [:]
    while failures.count < maximumFailures,
        try await due(failures.count + 1).contains(where: { failures[$0] == nil }),
        let more = try await round(Set(failures.keys))
    {
        failures.merge(more) { _, new in new }
    }
    if let failure = failures.values.first { throw failure }
}
