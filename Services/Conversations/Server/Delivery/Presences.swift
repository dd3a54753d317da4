import ConversationsAPI
import Foundation
import Logging
import NIOCore
import Postgres
import ServiceLifecycle
import Wire

/// The announcement of presences to partners of direct conversations and of groups of up to 100, unless a block
/// separates them.
///
/// Announcements are processed one after another in a bounded queue. When very many users connect and disconnect at
/// once, some announcements are dropped.
final class Presences: Service {
    private enum Work {
        /// A user came online or went offline; finds the audience, here and at the other instances.
        case announce(Presence)
        /// Finds the recipients at this instance.
        case deliver(Presence, [Conversation.ID])
    }

    private static let capacity = 10_000
    /// The maximum number of conversations in one message on the bus.
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

    /// Returns the presences of a conversation's other members that `user` may see: none of a large group, none across
    /// a block.
    func presences(in conversation: Conversation.ID, for user: User.ID) async throws -> [Presence] {
        let store = PresenceStore(db: database.reads)
        let partners = try await store.partners(of: user, in: conversation)
        guard !partners.isEmpty else { return [] }
        let blocked = Set(try await BlockStore(db: database.reads).blockedPeers(from: user, among: partners))
        return try await store.presences(of: partners, of: user.application).filter { !blocked.contains($0.user) }
    }

    func announce(_ presence: Presence) { workQueue.yield(.announce(presence)) }

    /// Handles a presence that another instance announced.
    func receive(_ presence: Presence, in conversations: [Conversation.ID]) {
        workQueue.yield(.deliver(presence, conversations))
    }

    func run() async {
        await cancelWhenGracefulShutdown { [self] in
            for await work in work {
                do {
                    try await perform(work)
                } catch {
                    // Presences are best effort; a client that requests the chat again receives the current ones.
                    logger.warning("cannot announce presence", metadata: ["error": "\(error)"])
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

// The wire format of a presence.
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
