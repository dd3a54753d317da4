import Foundation
import Locks
import Postgres
import SocialAPI
import Wire

/// Finds the sender of a private message whose webhook names the sender only by a number.
///
/// The threads of an account name their participants. Polls cache them; otherwise the newest page of threads is read.
/// The page also gives the message's thread, which such a webhook does not.
final class MessageSenders: Sendable {
    private static let capacity = 10_000
    /// The time for which an unknown participant is not looked up again, in seconds.
    private static let missLifetime: TimeInterval = 300
    /// The timeout of a request to the network; the webhook's response waits for it.
    private static let limit: Duration = .seconds(3)
    private static let threads = 25

    private struct Key: Hashable {
        var user: User.ID
        var network: Network
        var person: String
    }

    private struct CachedParticipant {
        /// Nil if no thread names the person.
        var person: ItemAuthor?
        var thread: String?
        var at: Date
    }

    private let database: PostgresPool
    private let sources: Sources
    private let networkGateway: NetworkGateway
    private let now: @Sendable () -> Date
    private let cache = Lock<[Key: CachedParticipant]>([:])

    init(database: PostgresPool, sources: Sources, networkGateway: NetworkGateway, now: @escaping @Sendable () -> Date)
    {
        self.database = database
        self.sources = sources
        self.networkGateway = networkGateway
        self.now = now
    }

    /// Caches the participants of threads.
    func note(_ threads: [Item], of user: User.ID) {
        let at = now()
        cache.withLock { cache in
            for thread in threads where thread.kind == .thread {
                for person in thread.participants ?? [] where !person.isNameless {
                    if cache.count >= Self.capacity { cache.removeAll() }
                    let key = Key(user: user, network: thread.network, person: person.id)
                    cache[key] = CachedParticipant(person: person, thread: thread.thread, at: at)
                }
            }
        }
    }

    /// Returns the message with its thread and the sender's name, if they can be found.
    func complete(_ item: Item, of user: User.ID) async throws -> Item {
        guard item.kind == .message, let author = item.author, author.isNameless, let thread = item.thread else {
            return item
        }
        // For the user's own message, `thread` is the id of the other person.
        let names = try await AccountStore(db: database).names(of: user, on: item.network)
        let isOwn = names.contains(author)
        let key = Key(user: user, network: item.network, person: isOwn ? thread : author.id)
        guard let found = try await participant(key) else { return item }
        var item = item
        if let person = found.person, !isOwn { item.author = person }
        if let name = found.thread, thread == key.person { item.thread = name }
        return item
    }

    private func participant(_ key: Key) async throws -> CachedParticipant? {
        if let found = cached(key) { return found }
        let record = try await AccountStore(db: database).account(of: key.user, on: key.network)
        // The error is ignored: without readable tokens only the name is missing, and the message must not be lost.
        guard let record, var source = (try? sources.source(of: record)) ?? nil else { return nil }
        do {
            let page = try await networkGateway.call(&source, within: Self.limit) { connector, account in
                try await connector.threads(PageRequest(limit: Self.threads), as: account)
            }
            note(page.items.map(\.item), of: key.user)
        } catch is CancellationError {
            throw CancellationError()
        } catch is NetworkError {
            // The message is recorded without a name, since it must not wait for the network.
        }
        if let found = cached(key) { return found }
        cache.withLock { cache in
            if cache.count >= Self.capacity { cache.removeAll() }
            cache[key] = CachedParticipant(person: nil, thread: nil, at: now())
        }
        return nil
    }

    /// Returns the cached participant; nil if the person must be looked up.
    private func cached(_ key: Key) -> CachedParticipant? {
        guard let found = cache.withLock({ $0[key] }) else { return nil }
        guard found.person == nil else { return found }
        return now().timeIntervalSince(found.at) < Self.missLifetime ? found : nil
    }
}

extension ItemAuthor {
    /// Whether the network gave a number instead of a name.
    var isNameless: Bool { name == id && username == nil }
}
