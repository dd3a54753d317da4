import Foundation
import Logging
import Postgres
import ServiceHost
import SocialAPI

/// Finds out what became of posts that nobody knows of: after a timeout, or the end of the process that sent them.
struct Reconciling: Sendable {
    /// Seconds until the first look, and twice as long each time.
    private static let first = 30.0
    /// After so many looks in vain it was not posted, as far as anybody can tell.
    private static let maximumLooks = 6

    let database: PostgresPool
    let sources: Sources
    let delivering: Delivering
    let setAside: SetAside
    let logger: Logger
    let now: @Sendable () -> Date

    func round() async throws {
        let (claimed, unreadable) = try await DeliveryStore(db: database)
            .claimUnknown(pausing: Self.first, now: now(), limit: 16)
        await withTaskGroup(of: Void.self) { tasks in
            for delivery in claimed { tasks.addTask { await reconcile(delivery) } }
        }
        try await setAside.failed(unreadable, of: .delivery)
    }

    private func reconcile(_ delivery: DeliveryRecord) async {
        do {
            guard let post = try await PostStore(db: database).post(delivery.post),
                var source = try await sources.found(delivery.network, for: Asker(user: post.user))
            else { return }
            switch await delivering.look(for: Parcel(post, on: delivery.network), delivery, by: &source) {
            case .found(let posted):
                try await delivering.finish(delivery, Delivering.result(posted, delivery.network))
            case .absent, .unknown:
                guard delivery.looks >= Self.maximumLooks else { return }
                try await delivering.finish(delivery, Delivering.unknown)
            }
        } catch {
            logger.warning("a post could not be looked for", metadata: ["error": "\(error)"])
            guard let failed = FailedRow(delivery.key, error) else { return }
            // Without the note it is looked for again all the same.
            try? await setAside.failed([failed], of: .delivery)
        }
    }
}
