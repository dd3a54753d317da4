import ConversationsAPI
import EventBus
import Foundation
import Logging
import Postgres
import ServiceHost
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

/// The sessions that have ended, as a service knows them.
final class EndedSessions: Sendable {
    private let sessions = Mutex<Set<String>>([])

    func insert(_ session: String) { sessions.withLock { _ = $0.insert(session) } }

    @Sendable func contains(_ session: String) -> Bool { sessions.withLock { $0.contains(session) } }
}

/// The writing and delivering parts of an instance, over the fixture's database.
struct Instance: Sendable {
    let delivery: Delivery
    let rooms: RecordingRooms
    let writeShards: WriteShards
    let conversations: Conversations
    let messages: Messages
    private let ended = EndedSessions()

    init(_ name: String, over pool: PostgresPool, bus: any EventBus) {
        let links = FileLinks(signer: LinkSigner(secrets: ["links"]), publicURL: "http://roost.test", now: { Date() })
        let rooms = RecordingRooms()
        let ended = ended
        let delivery = Delivery(
            database: pool,
            bus: bus,
            rooms: rooms,
            links: links,
            setAside: SetAside([.message], database: pool, logger: StoreFixture.logger, now: { Date() }),
            logger: StoreFixture.logger,
            hasEnded: ended.contains,
            instance: name
        )
        self.rooms = rooms
        self.delivery = delivery
        writeShards = WriteShards(
            database: pool,
            configuration: .longTimeouts,
            logger: StoreFixture.logger,
            written: delivery.changeNotifier.didWrite
        )
        conversations = Conversations(
            database: pool,
            users: KnownUsers(auth: FakeAuth.unreachable),
            cursors: CursorSigner(secrets: ["cursors"]),
            links: links,
            maximumMembers: 10_000,
            changeNotifier: delivery.changeNotifier
        )
        messages = Messages(database: pool, writeShards: writeShards, links: links)
    }

    /// Ends a session, as auth does.
    func end(session: String) {
        ended.insert(session)
        delivery.end(session: session)
    }

    var members: Members { Members(conversations: conversations) }

    /// Connects a device of a user.
    func connect(
        _ name: String,
        device: String? = nil,
        session: String? = nil,
        last: [Conversation.ID: Int64]? = nil
    ) async throws -> Client {
        let socket = RecordingSocket(rooms)
        let connection = try await delivery.attach(
            socket,
            user: StoreFixture.user(name),
            device: device ?? "\(name)'s",
            session: session ?? "\(name)'s session",
            last: last
        )
        return Client(instance: self, connection: connection, socket: socket)
    }
}

/// A connected device.
struct Client: Sendable {
    let instance: Instance
    let connection: Connection
    let socket: RecordingSocket

    @discardableResult
    func send(_ text: String, in token: ConversationToken, id: String? = nil) async throws -> Message {
        let draft = MessageDraft(data: text, clientMessageId: id)
        return try await instance.messages.send(draft, to: token, by: connection.user, through: connection)
    }

    func leave() { instance.delivery.detach(connection) }

    /// Waits until the client has received the message with this sequence, or a later one.
    func waitForMessage(upTo seq: Int) async throws {
        try await eventually { socket.seqs.last.map { $0 >= seq } ?? false }
    }
}

extension StoreFixture {
    /// Runs two instances with their background services, which notify each other.
    func withInstances(_ body: (Instance, Instance) async throws -> Void) async throws {
        let name = try await BusStore(db: pool).name()
        let instances = ["one", "two"].map { instance in
            let bus = PostgresEventBus(pool: pool, name: name, logger: Self.logger)
            return Instance(instance, over: pool, bus: bus)
        }
        try await running(instances.flatMap { [$0.delivery] + $0.delivery.backgroundServices }) {
            // Both instances know each other and are subscribed.
            for _ in 0..<2 { for instance in instances { try await instance.delivery.devices.renew() } }
            try await eventually { instances.allSatisfy(\.delivery.changeNotifier.hasReceived) }
            try await body(instances[0], instances[1])
        }
    }

    /// Runs two instances that do not notify each other and do no background work.
    func withUnconnectedInstances(_ body: (Instance, Instance) async throws -> Void) async throws {
        let instances = ["one", "two"].map { Instance($0, over: pool, bus: bus($0)) }
        try await body(instances[0], instances[1])
        for instance in instances { instance.delivery.queue.stop() }
    }

    /// Returns a bus that only buses with the same name receive events from.
    func bus(_ name: String) -> PostgresEventBus {
        PostgresEventBus(pool: pool, name: "\(database.configuration.schema ?? "")_\(name)", logger: Self.logger)
    }

    func running(_ services: [any Service], _ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for service in services { tasks.addTask { try await service.run() } }
            let outcome: Result<Void, any Error>
            do {
                outcome = .success(try await body())
            } catch {
                outcome = .failure(error)
            }
            tasks.cancelAll()
            while let ended = await tasks.nextResult() { _ = ended }
            try outcome.get()
        }
    }
}
