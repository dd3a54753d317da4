public import Foundation
public import NIOCore
public import NIOPosix

/// One connection to a Socket.IO server (Engine.IO 4) by a WebSocket, in the namespace `/`.
///
/// ```swift
/// let endpoint = try SocketIOEndpoint("https://chat.example.org")
/// let connection = try await SocketIOConnection.connect(to: endpoint, auth: Data(#"{"token":"…"}"#.utf8))
/// let answer = try await connection.request("say", Data(#""hello""#.utf8))
/// for try await event in connection.events { print(event.name) }
/// ```
///
/// Text only: a server that sends attachments is left. ``SocketIOConnections`` makes a new one when it is over.
public final class SocketIOConnection: Sendable {
    /// The socket's id; another one on every connection.
    public let id: String
    /// What the server says; for one reader.
    public let events: SocketIOEvents
    private let channel: any Channel
    private let handler: NIOLoopBound<ConnectionHandler>

    init(id: String, events: SocketIOEvents, channel: any Channel, handler: NIOLoopBound<ConnectionHandler>) {
        self.id = id
        self.events = events
        self.channel = channel
        self.handler = handler
    }

    /// Connects, and waits until the server has let the socket in; throws a ``SocketIOClientError``.
    ///
    /// `auth` is a JSON object, which the server sees as the handshake's.
    public static func connect(
        to endpoint: SocketIOEndpoint,
        auth: Data = Data("{}".utf8),
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) async throws -> SocketIOConnection {
        try await ConnectionAttempt(endpoint: endpoint, auth: auth, group: group).connection()
    }

    /// Says an event that wants no answer, its arguments each JSON; returns when it is on its way.
    public func emit(_ name: String, _ arguments: Data...) async throws {
        try await say("2", nil, [Self.json(name)] + arguments)
    }

    /// Says an event and waits for its acknowledgement, whose arguments it gives.
    ///
    /// Where it throws ``SocketIOClientError/timedOut`` or `closed`, the server may have heard it all the same.
    public func request(
        _ name: String,
        _ arguments: Data...,
        timeout: Duration = .seconds(10)
    ) async throws -> [Data] {
        let items = [Self.json(name)] + arguments
        let answer = channel.eventLoop.makePromise(of: [Data].self)
        channel.eventLoop.execute { self.handler.value.ask(items, timeout: TimeAmount(timeout), answer) }
        return try await answer.futureResult.get()
    }

    /// Acknowledges an event that the server wants acknowledged; else it does nothing.
    public func acknowledge(_ event: SocketIOEvent, _ arguments: Data...) async throws {
        guard let number = event.acknowledgement else { return }
        try await say("3", number, arguments)
    }

    /// Takes leave of the server and waits until the connection is over.
    public func close() async {
        channel.eventLoop.execute { self.handler.value.leave() }
        await closed()
    }

    /// Waits until the connection is over, whoever ends it.
    public func closed() async {
        // Silence: a channel's closing never fails.
        try? await channel.closeFuture.get()
    }

    private func say(_ type: Character, _ number: Int?, _ items: [Data]) async throws {
        let said = channel.eventLoop.makePromise(of: Void.self)
        channel.eventLoop.execute { self.handler.value.say(type, number, items, said) }
        try await said.futureResult.get()
    }

    private static func json(_ name: String) -> Data {
        // Silence: text always encodes.
        (try? JSONEncoder().encode(name)) ?? Data("\"\"".utf8)
    }
}
