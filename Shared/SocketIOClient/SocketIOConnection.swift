public import Foundation
public import NIOCore
public import NIOPosix

/// A connection to a Socket.IO server (Engine.IO 4) over a WebSocket, in the namespace `/`.
///
/// ```swift
/// let endpoint = try SocketIOEndpoint("https://chat.example.org")
/// let connection = try await SocketIOConnection.connect(to: endpoint, auth: Data(#"{"token":"…"}"#.utf8))
/// let reply = try await connection.request("say", Data(#""hello""#.utf8))
/// for try await event in connection.events { print(event.name) }
/// ```
///
/// Attachments are not supported: a binary message closes the connection. ``SocketIOConnections`` reconnects.
public final class SocketIOConnection: Sendable {
    /// The socket's id; every connection has a new one.
    public let id: String
    /// The events from the server; only one task may iterate over them.
    public let events: SocketIOEvents
    private let channel: any Channel
    private let handler: NIOLoopBound<ConnectionHandler>

    init(id: String, events: SocketIOEvents, channel: any Channel, handler: NIOLoopBound<ConnectionHandler>) {
        self.id = id
        self.events = events
        self.channel = channel
        self.handler = handler
    }

    /// Connects and waits until the server has accepted the socket.
    ///
    /// - Parameters:
    ///   - endpoint: The server.
    ///   - auth: The handshake's `auth`, a JSON object.
    ///   - group: The event loops of the connection.
    /// - Returns: The open connection.
    /// - Throws: ``SocketIOClientError``, or `CancellationError`.
    public static func connect(
        to endpoint: SocketIOEndpoint,
        auth: Data = Data("{}".utf8),
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) async throws -> SocketIOConnection {
        try await ConnectionAttempt(endpoint: endpoint, auth: auth, group: group).connection()
    }

    /// Emits an event without an acknowledgement; returns when it was written to the socket.
    ///
    /// - Parameters:
    ///   - name: The event's name.
    ///   - arguments: The arguments, each as JSON.
    /// - Throws: ``SocketIOClientError``.
    public func emit(_ name: String, _ arguments: Data...) async throws {
        try await send("2", nil, [Self.json(name)] + arguments)
    }

    /// Emits an event and waits for its acknowledgement.
    ///
    /// - Parameters:
    ///   - name: The event's name.
    ///   - arguments: The arguments, each as JSON.
    ///   - timeout: How long to wait for the acknowledgement.
    /// - Returns: The acknowledgement's arguments, each as JSON.
    /// - Throws: ``SocketIOClientError``. After `timedOut` or `closed`, the server may have processed the event.
    public func request(
        _ name: String,
        _ arguments: Data...,
        timeout: Duration = .seconds(10)
    ) async throws -> [Data] {
        let items = [Self.json(name)] + arguments
        let acknowledgement = channel.eventLoop.makePromise(of: [Data].self)
        channel.eventLoop.execute { self.handler.value.request(items, timeout: TimeAmount(timeout), acknowledgement) }
        return try await acknowledgement.futureResult.get()
    }

    /// Acknowledges an event; does nothing if the server requested no acknowledgement.
    ///
    /// - Throws: ``SocketIOClientError``.
    public func acknowledge(_ event: SocketIOEvent, _ arguments: Data...) async throws {
        guard let number = event.acknowledgement else { return }
        try await send("3", number, arguments)
    }

    /// Disconnects from the server and waits until the connection is closed.
    public func close() async {
        channel.eventLoop.execute { self.handler.value.disconnect() }
        await closed()
    }

    /// Waits until either side has closed the connection.
    public func closed() async {
        // The close future of a channel never fails.
        try? await channel.closeFuture.get()
    }

    private func send(_ type: Character, _ number: Int?, _ items: [Data]) async throws {
        let written = channel.eventLoop.makePromise(of: Void.self)
        channel.eventLoop.execute { self.handler.value.send(type, number, items, written) }
        try await written.futureResult.get()
    }

    private static func json(_ name: String) -> Data {
        // Encoding a string cannot fail.
        (try? JSONEncoder().encode(name)) ?? Data("\"\"".utf8)
    }
}
