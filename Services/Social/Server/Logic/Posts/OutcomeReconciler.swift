import Foundation
import Logging
import Postgres
import ServiceHost
import SocialAPI

/// Finds out what became of posts that nobody knows of: after a timeout, or the end of the process that sent them.
struct OutcomeReconciler: Sendable {
    /// Seconds until the first look, and twice as long each time.
    private static let first = 30.0
    /// After so many looks in vain it was not posted, as far as anybody can tell.
    private static let maximumLookups = 6

    let database: PostgresPool
    let sources: Sources
    let publisher: Publisher
    let setAside: SetAside
    let logger: Logger
    let now: @Sendable () -> Date

    func round() async throws {
        let (claimed, unreadable) = try await PublicationStore(db: database)
            .claimUnknown(pausing: Self.first, now: now(), limit: 16)
        await withTaskGroup(of: Void.self) { tasks in
            for publication in claimed { tasks.addTask { await reconcile(publication) } }
        }
        try await setAside.failed(unreadable, of: .publication)
    }

    private func reconcile(_ publication: PublicationRecord) async {
        do {
            guard let post = try await PostStore(db: database).post(publication.post),
                var source = try await sources.found(publication.network, for: Caller(user: post.user))
            else { return }
            switch await publisher.lookUp(for: PublishRequest(post, on: publication.network), publication, by: &source)
            {
            case .found(let posted):
                try await publisher.finish(publication, Publisher.result(posted, publication.network))
            case .absent, .unknown:
                guard publication.lookups >= Self.maximumLookups else { return }
                try await publisher.finish(publication, Publisher.unknown)
            }
        } catch {
            logger.warning("a post could not be looked for", metadata: ["error": "\(error)"])
            guard let failed = FailedRow(publication.key, error) else { return }
            // Without the note it is looked for again all the same.
            try? await setAside.failed([failed], of: .publication)
        }
    }
}
