/// The number of failed deletions after which a run stops; more failures suggest that the storage is unavailable.
private let maximumFailures = 10

/// Deletes expired items in rounds and skips items that cannot be deleted; the next run retries them.
///
/// - Parameters:
///   - due: returns at most the given number of expired items, the oldest first.
///   - round: deletes a batch of expired items except those in `failed`, and returns the errors by item; nil stops the
///     run.
/// - Throws: one of the deletion errors, after all other items were processed.
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
