import ConversationsAPI
import Foundation
import Logging
import NIOCore
import Postgres
import ServiceLifecycle
import Wire

/// Tells people who is there: partners of direct conversations and of groups of up to 100, and none that is kept apart.
///
/// One after another, behind everything else, and bounded: where very many come and go at once, some are not told of.
final class Presences: Service {
    private enum Work {
        /// Somebody came or went: where is it told, here and at the other instances?
        case announce(Presence)
        /// Whom does it concern here?
        case deliver(Presence, [Conversation.ID])
    }

    private static let capacity = 10_000
    /// So many conversations fit one message on the bus.
    private static let conversationsPerMessage = 200

    private let database: PostgresPool
    private let connections: Connections
    private let changeNotifier: ChangeNotifier
    private let logger: Logger
    private let work: AsyncStream<Work>
    private let workQueue: AsyncStream<Work>.Continuation

    init(database: PostgresPool, connections: Connections, changeNotifier: ChangeNotifier, logger: Logger) {
        self.database = database
        self.connections = connections
        self.changeNotifier = changeNotifier
        self.logger = logger
        (work, workQueue) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.capacity))
    }

    /// Of the others in a conversation that `user` is in, as he may know it: none of a large group, nor of who is kept
    /// apart from him.
    func presences(in conversation: Conversation.ID, for user: User.ID) async throws -> [Presence] {
        let store = PresenceStore(db: database.reads)
        let partners = try await store.partners(of: user, in: conversation)
        guard !partners.isEmpty else { return [] }
        let blocked = Set(try await BlockStore(db: database.reads).blockedPeers(from: user, among: partners))
        return try await store.presences(of: partners, of: user.application).filter { !blocked.contains($0.user) }
    }

    func announce(_ presence: Presence) { workQueue.yield(.announce(presence)) }

    /// Another instance says it.
    func receive(_ presence: Presence, in conversations: [Conversation.ID]) {
        workQueue.yield(.deliver(presence, conversations))
    }

    func run() async {
        await cancelWhenGracefulShutdown { [self] in
            for await work in work {
                do {
                    try await perform(work)
                } catch {
                    // It is shown, not promised: who looks again sees it.
                    logger.warning("a presence was not told", metadata: ["error": "\(error)"])
                }
            }
        }
    }

    private func perform(_ work: Work) async throws {
        switch work {
        case .announce(let presence):
            let audience = try await PresenceStore(db: database.reads).audience(of: presence.user)
            for start in stride(from: 0, to: audience.count, by: Self.conversationsPerMessage) {
                let part = Array(audience[start..<min(start + Self.conversationsPerMessage, audience.count)])
                changeNotifier.publish(.presence(presence, part))
            }
            try await deliver(presence, in: audience)
        case .deliver(let presence, let conversations):
            try await deliver(presence, in: conversations)
        }
    }

    private func deliver(_ presence: Presence, in conversations: [Conversation.ID]) async throws {
        var partners: Set<User.ID> = []
        for conversation in conversations {
            for connection in connections.room(conversation)?.connections ?? [] { partners.insert(connection.user) }
        }
        partners.remove(presence.user)
        guard !partners.isEmpty else { return }
        let blocks = BlockStore(db: database.reads)
        partners.subtract(try await blocks.blockedPeers(from: presence.user, among: partners.map(\.user)))
        let event = try presence.event()
        for partner in partners {
            for connection in connections.of(partner) { connection.socket.emit(event) }
        }
    }
}

// As clients are told.
extension Presence: Encodable {
    private enum CodingKeys: CodingKey { case userId, status, lastSeen }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(user.user, forKey: .userId)
        try container.encode(isOnline ? "online" : "offline", forKey: .status)
        try container.encode(lastSeen, forKey: .lastSeen)
    }

    func event() throws -> DeliveryEvent {
        DeliveryEvent(name: .presence, json: ByteBuffer(bytes: try WireJSON.encoder().encode(self)))
    }
}
