import Foundation
import Locks
import Postgres
import SocialAPI
import Wire

/// Finds out who the sender of a private message is, where a network's webhook names the sender by a number alone.
///
/// The threads of an account name their participants. They are known from polls; otherwise the newest page of threads is
/// read. A page also says which thread the message belongs to, which such a webhook does not.
final class MessageSenders: Sendable {
    /// How many participants are known.
    private static let capacity = 10_000
    /// How long a participant that no thread names is not looked up again, in seconds.
    private static let missLifetime: TimeInterval = 300
    /// The time that a network has to answer: a webhook waits for it.
    private static let limit: Duration = .seconds(3)
    private static let threads = 25

    private struct Key: Hashable {
        var user: User.ID
        var network: Network
        var person: String
    }

    private struct Known {
        /// Nil where no thread names the person.
        var person: ItemAuthor?
        var thread: String?
        var at: Date
    }

    private let database: PostgresPool
    private let sources: Sources
    private let networkGateway: NetworkGateway
    private let now: @Sendable () -> Date
    private let known = Lock<[Key: Known]>([:])

    init(database: PostgresPool, sources: Sources, networkGateway: NetworkGateway, now: @escaping @Sendable () -> Date)
    {
        self.database = database
        self.sources = sources
        self.networkGateway = networkGateway
        self.now = now
    }

    /// Notes the participants of threads.
    func note(_ threads: [Item], of user: User.ID) {
        let at = now()
        known.withLock { known in
            for thread in threads where thread.kind == .thread {
                for person in thread.participants ?? [] where !person.isNameless {
                    if known.count >= Self.capacity { known.removeAll() }
                    let key = Key(user: user, network: thread.network, person: person.id)
                    known[key] = Known(person: person, thread: thread.thread, at: at)
                }
            }
        }
    }

    /// Returns a message with the sender's name and its thread, as far as they can be found out.
    func complete(_ item: Item, of user: User.ID) async throws -> Item {
        guard item.kind == .message, let author = item.author, author.isNameless, let thread = item.thread else {
            return item
        }
        // Of an own message, the thread names the other person.
        let names = try await AccountStore(db: database).names(of: user, on: item.network)
        let isOwn = names.contains(author)
        let key = Key(user: user, network: item.network, person: isOwn ? thread : author.id)
        guard let found = try await participant(key) else { return item }
        var item = item
        if let person = found.person, !isOwn { item.author = person }
        if let name = found.thread, thread == key.person { item.thread = name }
        return item
    }

    private func participant(_ key: Key) async throws -> Known? {
        if let found = recent(key) { return found }
        let record = try await AccountStore(db: database).account(of: key.user, on: key.network)
        // Silence: only a name is missing, and the message must not be lost where the tokens cannot be read.
        guard let record, var source = (try? sources.source(of: record)) ?? nil else { return nil }
        do {
            let page = try await networkGateway.call(&source, within: Self.limit) { connector, account in
                try await connector.threads(PageRequest(limit: Self.threads), as: account)
            }
            note(page.items.map(\.item), of: key.user)
        } catch is CancellationError {
            throw CancellationError()
        } catch is NetworkError {
            // The message is recorded without a name: it must not wait for the network.
        }
        if let found = recent(key) { return found }
        known.withLock { known in
            if known.count >= Self.capacity { known.removeAll() }
            known[key] = Known(person: nil, thread: nil, at: now())
        }
        return nil
    }

    /// What is known of a person; nil where it has to be looked up.
    private func recent(_ key: Key) -> Known? {
        guard let found = known.withLock({ $0[key] }) else { return nil }
        guard found.person == nil else { return found }
        return now().timeIntervalSince(found.at) < Self.missLifetime ? found : nil
    }
}

extension ItemAuthor {
    /// Whether the network gave a number instead of a name.
    var isNameless: Bool { name == id && username == nil }
}
