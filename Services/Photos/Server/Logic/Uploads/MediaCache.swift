import Locks
import ServiceHost

/// What was asked for a moment ago, so that it need not be looked up again: a photo that is new is asked for by many.
///
/// What is gone is found by ``revalidate``, and so is served for a second longer; whoever has had it keeps it for a year
/// anyway. While the database does not answer, nothing is known.
final class MediaCache: Sendable {
    /// So many are known at most; the rest is looked up each time.
    static let capacity = 4_096
    /// How long one is known that nobody asks for.
    private static let idleTimeout: Duration = .seconds(60)
    private static let batch = 512

    private struct Entry {
        let served: ServedBlob
        let reply: BlobResponse
        var usedAt: ContinuousClock.Instant
    }

    private let entries = Lock<[String: Entry]>([:])

    var count: Int { entries.withLock { $0.count } }

    /// By its key as it is written in a path.
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

    /// Forgets what is gone, and what nobody has asked for lately.
    ///
    /// - Parameter present: answers which of these are there.
    /// - Throws: what `existing` throws; then nothing is known.
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
                let gone = Set(batch).subtracting(try await existing(batch))
                entries.withLock { entries in for key in gone { entries["\(key)"] = nil } }
            }
        } catch {
            entries.withLock { $0 = [:] }
            throw error
        }
    }
}
