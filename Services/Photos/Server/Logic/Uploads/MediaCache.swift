import Locks
import ServiceHost

/// Recently requested images, so that requests for new photos need no database lookup.
///
/// A deleted image is removed by ``revalidate(_:)``, so it is served for about a second longer; clients cache images
/// for a year anyway. While the database is unavailable, the cache is empty.
final class MediaCache: Sendable {
    static let capacity = 4_096
    private static let idleTimeout: Duration = .seconds(60)
    private static let batch = 512

    private struct Entry {
        let served: ServedBlob
        let reply: BlobResponse
        var usedAt: ContinuousClock.Instant
    }

    private let entries = Lock<[String: Entry]>([:])

    var count: Int { entries.withLock { $0.count } }

    func find(_ key: Substring) -> (served: ServedBlob, reply: BlobResponse)? {
        let key = String(key)
        return entries.withLock { entries in
            guard let entry = entries[key] else { return nil }
            entries[key]?.usedAt = .now
            return (entry.served, entry.reply)
        }
    }

    func insert(_ served: ServedBlob) {
        entries.withLock { entries in
            guard entries.count < Self.capacity else { return }
            entries["\(served.key)"] = Entry(served: served, reply: served.reply, usedAt: .now)
        }
    }

    /// Removes entries whose images were deleted or were not requested recently.
    ///
    /// - Parameter existing: Returns which of these images exist.
    /// - Throws: The error of `existing`; then all entries are removed.
    func revalidate(_ existing: ([MediaKey]) async throws -> Set<MediaKey>) async throws {
        let oldest = ContinuousClock.now - Self.idleTimeout
        var rest = entries.withLock { entries in
            entries = entries.filter { $0.value.usedAt > oldest }
            return entries.values.map(\.served.key)[...]
        }
        do {
            while !rest.isEmpty {
                let batch = Array(rest.prefix(Self.batch))
                rest = rest.dropFirst(Self.batch)
                let deleted = Set(batch).subtracting(try await existing(batch))
                entries.withLock { entries in for key in deleted { entries["\(key)"] = nil } }
            }
        } catch {
            entries.withLock { $0 = [:] }
            throw error
        }
    }
}
