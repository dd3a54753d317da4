import Foundation
import Logging
import Postgres
import PushAPI
import ServiceClient
import SocialAPI
import Wire

struct BroadcastQueries: Sendable {
    private static let limit = 500
    /// The time in seconds after which the last successful poll is too old to say what is live.
    private static let staleness: TimeInterval = 60
    private static let favouritePages = 50

    /// Whether a source of broadcasts is configured.
    let isPolled: Bool
    let database: PostgresPool
    /// Nil if push, which stores the favourites, is not configured.
    let push: ServiceClient?
    let logger: Logger
    let now: @Sendable () -> Date

    /// Returns the live broadcasts: favourites first, then by number of viewers.
    ///
    /// - Throws: `unavailable` if the last successful poll is too old.
    func live(for caller: Caller) async throws -> Page<Broadcast> {
        guard isPolled else { return Page([]) }
        let store = BroadcastStore(db: database.reads)
        guard let answered = try await store.answeredAt(), now().timeIntervalSince(answered) <= Self.staleness else {
            throw APIError.unavailable("Reddit's list of broadcasts")
        }
        let all = try await store.live(limit: Self.limit)
        // The favourites are read only if there are broadcasts to mark.
        guard !all.isEmpty, let favourites = await favourites(of: caller) else { return Page(all) }
        let marked = all.map { $0.marked(by: favourites) }
        return Page(marked.filter { $0.favourite == true } + marked.filter { $0.favourite != true })
    }

    func show(_ id: String, for caller: Caller) async throws -> Broadcast {
        let name = id.hasPrefix("t3_") ? id : "t3_\(id)"
        guard let broadcast = try await BroadcastStore(db: database.reads).find(name) else {
            throw APIError(.notFound, "broadcast_not_found", "there is no such broadcast")
        }
        guard let broadcaster = broadcast.broadcaster, let push else { return broadcast }
        var shown = broadcast
        do {
            _ = try await PreferencesClient(push.authorized(as: caller.credential)).subscription(broadcaster)
            shown.favourite = true
        } catch let error as APIError where error.kind == .notFound {
            shown.favourite = false
        } catch let error as APIError {
            logFailure(error)
        }
        return shown
    }

    /// Returns the folded names of the caller's favourites; nil if push fails, so that the list is shown without marks.
    private func favourites(of caller: Caller) async -> Set<String>? {
        guard let push else { return nil }
        let client = PreferencesClient(push.authorized(as: caller.credential))
        var names: Set<String> = []
        var cursor: String?
        do {
            for _ in 0..<Self.favouritePages {
                let page = try await client.subscriptions(limit: 100, cursor: cursor)
                names.formUnion(page.items.map { NameFolding.fold($0.broadcaster) })
                cursor = page.next
                guard cursor != nil else { break }
            }
            return names
        } catch {
            logFailure(error)
            return nil
        }
    }

    private func logFailure(_ error: any Error) {
        logger.notice("favourites unavailable", metadata: ["error": "\(error)"])
    }
}

extension Broadcast {
    fileprivate func marked(by favourites: Set<String>) -> Broadcast {
        var marked = self
        marked.favourite = broadcaster.map { favourites.contains(NameFolding.fold($0)) } ?? false
        return marked
    }
}
