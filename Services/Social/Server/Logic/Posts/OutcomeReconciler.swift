import Foundation
import Logging
import Postgres
import ServiceHost
import SocialAPI

/// Finds out whether posts with an unknown outcome were published: after a timeout, or a crash of the sending process.
struct OutcomeReconciler: Sendable {
    /// The time until the first lookup in seconds; it doubles with each lookup.
    private static let first = 30.0
    /// The number of lookups after which the outcome stays unknown.
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
            logger.warning("lookup of a post failed", metadata: ["error": "\(error)"])
            guard let failed = FailedRow(publication.key, error) else { return }
            // The error is ignored: without the record in `setAside` the post is looked up again all the same.
            try? await setAside.failed([failed], of: .publication)
        }
    }
}
