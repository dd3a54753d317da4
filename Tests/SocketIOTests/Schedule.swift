import NIOCore
import NIOEmbedded
import NIOHTTP1
import TestSupport

@testable import SocketIO

/// A random history of sockets, rooms and event loops, with a model of the messages that each client must receive.
///
/// One thread makes all calls of the application, so the calls have one order. Each loop must execute them in that
/// order, whatever it was executing when they were made.
final class Schedule: @unchecked Sendable {
    // Unchecked: only one thread uses the schedule.

    /// A client and its state in the model.
    final class Member {
        let connection: EngineConnection
        var socket: Socket?
        /// The WebSocket's channel and its loop.
        var channel: (channel: EmbeddedChannel, loop: ScheduledLoop)?
        /// Whether the client or the application has ended the connection, so that no more messages are required.
        var isLeaving = false
        var rooms: Set<Int> = []
        var expected: [Int] = []
        var received: [Int] = []

        init(_ connection: EngineConnection) { self.connection = connection }

        var isListening: Bool { socket != nil && !isLeaving }
    }

    private static let roomCount = 4
    private static let memberCount = 7

    private var random: SeededGenerator
    private let loops = (0..<3).map { _ in ScheduledLoop() }
    private let server = SocketIOServer()
    private let gate: SocketIOGate
    private var members: [Member] = []
    private var lastNumber = 0
    private var depth = 0
    private var problems: [String] = []

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        gate = SocketIOGate(server, next: { _ in })
        let namespace = server.namespace("/")
        namespace.onConnect { [unowned self] _, _ in callback { .accept } }
        namespace.onConnected { [unowned self] socket in callback { connected(socket) } }
        namespace.onAnyOther { [unowned self] socket, _ in callback { received(socket) } }
        namespace.onDisconnect { [unowned self] socket, _ in callback { disconnected(socket) } }
    }

    /// Runs the history and returns its violations.
    func run() -> [String] {
        for _ in 0..<80 where problems.isEmpty { act() }
        settle()
        check()
        for member in members { member.connection.close() }
        settle()
        // The server keeps a polling client's last packet for a time, then forgets the client.
        for _ in 0..<2 {
            for loop in loops { loop.advance(by: .seconds(20)) }
            settle()
        }
        checkEnd()
        for loop in loops { loop.finish() }
        return problems
    }

    private func settle() {
        while loops.contains(where: { !$0.isIdle }) { for loop in loops { loop.step() } }
    }

    private func number(below limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }

    private func any<Element>(of elements: [Element]) -> Element? { elements.randomElement(using: &random) }
}

// MARK: Steps
extension Schedule {
    private func act() {
        switch number(below: 20) {
        case 0, 1: connect()
        case 2: say("42[\"hello\"]")
        case 3: say("41")
        case 4: upgrade()
        case 5: closeChannel()
        case 6: if let member = any(of: members) { end(member, close: number(below: 2) == 0) }
        case 7: for loop in loops { loop.advance(by: .milliseconds(Int64(number(below: 60)))) }
        case 8, 9, 10: callApplication()
        default: any(of: loops)?.step()
        }
    }

    private func connect() {
        guard members.count < Self.memberCount, let loop = any(of: loops) else { return }
        let isPolling = number(below: 3) == 0
        let head = HTTPRequestHead(
            version: .http1_1,
            method: .GET,
            uri: "/socket.io/?EIO=4&transport=\(isPolling ? "polling" : "websocket")",
            headers: isPolling ? [:] : ["Connection": "Upgrade", "Upgrade": "websocket"]
        )
        guard let request = try? EngineRequest(head, configuration: server.configuration) else { return }
        let connection = EngineConnection(
            core: server.core,
            loop: server.core.loop(for: loop),
            handler: server.handler,
            request: request,
            remoteAddress: nil
        )
        guard server.core.add(connection) == nil else { return problems.append("the server is full") }
        let member = Member(connection)
        members.append(member)
        loop.enter {
            if !isPolling {
                let webSocket = WebSocketHandler(connection: connection, eventLoop: loop)
                member.channel = (EmbeddedChannel(handler: webSocket), loop)
                connection.webSocket = webSocket
            }
            connection.loop.perform { connection.start() }
        }
        send("40", from: member)
    }

    private func say(_ text: String) {
        guard let member = any(of: members.filter(\.isListening)) else { return }
        if text == "41" { member.isLeaving = true }
        send(text, from: member)
    }

    /// Sends a packet from the client; a polling client posts a second packet with it.
    private func send(_ text: String, from member: Member) {
        if let (channel, loop) = member.channel {
            receive([text], on: channel, loop)
        } else if let loop = member.connection.eventLoop as? ScheduledLoop {
            let exchange = PendingRequest(eventLoop: loop, gate: gate)
            let body = ByteBuffer(string: text == "40" ? text : "\(text)\u{1e}42[\"more\"]")
            let connection = member.connection
            loop.execute { connection.post(exchange, body, nil, isBinary: false) }
        }
    }

    private func receive(_ texts: [String], on channel: EmbeddedChannel, _ loop: ScheduledLoop) {
        var bytes = ByteBuffer()
        for text in texts { bytes.writeImmutableBuffer(WebSocket.frame(1, ByteBuffer(string: text))) }
        loop.enter {
            // A channel that the server has closed rejects the client's last packets.
            _ = try? channel.writeInbound(bytes)
            channel.embeddedEventLoop.run()
        }
    }

    /// Upgrades a client from polling to a WebSocket on a random loop.
    private func upgrade() {
        let polling = members.filter { $0.channel == nil && $0.isListening }
        guard let member = any(of: polling), let loop = any(of: loops) else { return }
        let connection = member.connection
        let webSocket = WebSocketHandler(connection: connection, eventLoop: loop)
        let channel = EmbeddedChannel(handler: webSocket)
        member.channel = (channel, loop)
        loop.enter { connection.loop.perform { if !connection.beginProbe(webSocket) { webSocket.finish() } } }
        receive(["2probe", "5"], on: channel, loop)
    }

    /// Closes a client's channel without a close frame.
    private func closeChannel() {
        guard let member = any(of: members.filter(\.connection.isStreaming)) else { return }
        guard let (channel, loop) = member.channel else { return }
        member.isLeaving = true
        loop.enter {
            channel.close(promise: nil)
            channel.embeddedEventLoop.run()
        }
    }
}

// MARK: Application
extension Schedule {
    private func callback<Value>(_ body: () -> Value) -> Value {
        depth += 1
        if depth > 1 { problems.append("a callback runs inside another one") }
        defer { depth -= 1 }
        return body()
    }

    private func member(of socket: Socket) -> Member? { members.first { $0.connection === socket.connection } }

    private func connected(_ socket: Socket) {
        guard let member = member(of: socket) else { return }
        member.socket = socket
        join(member, number(below: Self.roomCount))
        callApplication()
    }

    private func received(_ socket: Socket) {
        for _ in 0..<number(below: 4) { callApplication() }
    }

    /// Leaves all rooms and sends a message to each, as chat delivery does.
    private func disconnected(_ socket: Socket) {
        guard let member = member(of: socket) else { return }
        member.isLeaving = true
        for room in member.rooms.sorted() {
            leave(member, room)
            broadcast(room)
        }
        callApplication()
        if number(below: 3) == 0, let other = any(of: members) { end(other, close: number(below: 2) == 0) }
    }

    /// Makes a call that an application may make at any time, from any thread.
    private func callApplication() {
        let listening = members.filter(\.isListening)
        let room = number(below: Self.roomCount)
        switch number(below: 7) {
        case 0: any(of: listening).map { join($0, room) }
        case 1: any(of: listening).map { leave($0, room) }
        case 2, 3: any(of: listening).map(emit)
        case 4: broadcast(room, except: any(of: listening))
        default: broadcast(room)
        }
    }

    private func join(_ member: Member, _ room: Int) {
        member.rooms.insert(room)
        member.socket?.join(SocketRoom(UInt64(room)))
    }

    private func leave(_ member: Member, _ room: Int) {
        member.rooms.remove(room)
        member.socket?.leave(SocketRoom(UInt64(room)))
    }

    private func emit(_ member: Member) {
        lastNumber += 1
        member.expected.append(lastNumber)
        member.socket?.emit("n", SocketArguments(json: "\(lastNumber)"))
    }

    private func broadcast(_ room: Int, except: Member? = nil) {
        lastNumber += 1
        for member in members where member.isListening && member.rooms.contains(room) && member !== except {
            member.expected.append(lastNumber)
        }
        server.namespace("/").to(SocketRoom(UInt64(room))).except(sockets: [except?.socket].compactMap(\.self))
            .emit("n", SocketArguments(json: "\(lastNumber)"))
    }

    private func end(_ member: Member, close: Bool) {
        guard member.isListening else { return }
        member.isLeaving = true
        member.socket?.disconnect(close: close)
    }
}

// MARK: Invariants
extension Schedule {
    private func check() {
        for (index, member) in members.enumerated() {
            collect(member)
            let (expected, received) = (member.expected, member.received)
            if member.isLeaving {
                // The end depends on when the member's loop noticed it, so any prefix is correct.
                let isSame = zip(received, expected).allSatisfy { $0 == $1 }
                if !isSame { problems.append("member \(index) left, with \(received) of \(expected)") }
            } else if received != expected {
                problems.append("member \(index) received \(received) instead of \(expected)")
            }
        }
        for (index, loop) in loops.enumerated() {
            let here = server.core.loop(for: loop).state(of: server.namespace("/"))
            for room in 0..<Self.roomCount {
                let wanted = members.filter {
                    $0.isListening && $0.rooms.contains(room) && $0.connection.eventLoop === loop
                }
                let found = here.rooms[SocketRoom(UInt64(room))]
                let sockets = found.map { Array($0.streaming.members) + Array($0.polling.members) } ?? []
                if Set(sockets) != Set(wanted.compactMap(\.socket)) || sockets.count != wanted.count {
                    problems.append("room \(room) on loop \(index) has \(sockets.count) members, not \(wanted.count)")
                }
            }
        }
    }

    private func checkEnd() {
        for loop in loops {
            let here = server.core.loop(for: loop).state(of: server.namespace("/"))
            if !here.rooms.isEmpty || !here.allSockets.isEmpty {
                problems.append("a closed server has members in rooms")
            }
        }
        let count = server.connectionCount
        if count > 0 { problems.append("\(count) closed connections are still known") }
    }

    /// Collects the numbers that were sent over the WebSocket or wait for a polling client.
    private func collect(_ member: Member) {
        var texts: [String] = []
        if let channel = member.channel?.channel {
            var bytes = ByteBuffer()
            while let frames = try? channel.readOutbound(as: ByteBuffer.self) { bytes.writeImmutableBuffer(frames) }
            while let frame = Self.frame(from: &bytes) { texts.append(frame) }
        }
        for case .text(let text) in member.connection.polling?.queue ?? [] { texts.append(String(buffer: text)) }
        for text in texts where text.hasPrefix("42[\"n\",") {
            member.received += [Int(text.dropFirst(7).dropLast())].compactMap(\.self)
        }
    }

    private static func frame(from bytes: inout ByteBuffer) -> String? {
        guard let head: UInt16 = bytes.readInteger() else { return nil }
        let short = Int(head & 0x7f)
        let length = short < 126 ? short : bytes.readInteger(as: UInt16.self).map(Int.init) ?? 0
        return bytes.readString(length: length)
    }
}
