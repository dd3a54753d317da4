import Foundation
import NIOCore
import SocketIO
import Synchronization
import Testing

@testable import SocketIOClient

@Suite("Reconnecting", .timeLimit(.minutes(5))) struct ReconnectTests {
    private static let pauses = SocketIOConnections.Pauses(shortest: .milliseconds(20), longest: .milliseconds(100))

    @Test("The client reconnects to a restarted server, and passes the failure to the auth closure")
    func restartedServer() async throws {
        let first = try await RunningServer.start { $0.on("who") { _, event in event.acknowledgement?(json: "1") } }
        let failures = Mutex<[SocketIOClientError?]>([])
        let connections = SocketIOConnections(to: try first.endpoint(), pauses: Self.pauses) { failure in
            failures.withLock { $0.append(failure) }
            return json("{}")
        }
        var iterator = connections.makeAsyncIterator()
        let before = try #require(try await iterator.next())
        #expect(texts(try await before.request("who")) == ["1"])

        try await first.stop()
        await before.closed()
        await #expect(throws: SocketIOClientError.self) { try await before.request("who") }
        async let coming = Self.next(of: iterator)
        let second = try await RunningServer.start(port: first.port) {
            $0.on("who") { _, event in event.acknowledgement?(json: "2") }
        }
        let after = try #require(try await coming)
        #expect(texts(try await after.request("who")) == ["2"])
        #expect(after.id != before.id)
        let reported = failures.withLock { $0 }
        #expect(reported.first == .some(nil))
        #expect(reported.count >= 2)
        #expect(!reported.dropFirst().contains(nil))
        await after.close()
        try await second.stop()
    }

    @Test("A refused client can reconnect with new auth data")
    func retryWithOtherAuth() async throws {
        let running = try await RunningServer.start { namespace in
            namespace.onConnect { _, handshake in
                String(buffer: handshake.auth) == #"{"token":"new"}"# ? .accept : .refuse("expired")
            }
        }
        let connections = SocketIOConnections(to: try running.endpoint(), pauses: Self.pauses) { failure in
            json(failure == nil ? #"{"token":"old"}"# : #"{"token":"new"}"#)
        }
        var iterator = connections.makeAsyncIterator()
        let connection = try await iterator.next()
        #expect(connection != nil)
        await connection?.close()
        try await running.stop()
    }

    @Test("An error of the auth closure, or cancellation, ends the reconnecting")
    func authErrorAndCancellation() async throws {
        struct AuthFailure: Error {}
        let unusedServer = try await RunningServer.start { _ in }
        let endpoint = try unusedServer.endpoint()
        try await unusedServer.stop()
        var ending = SocketIOConnections(to: endpoint, pauses: Self.pauses) { failure in
            if failure != nil { throw AuthFailure() }
            return json("{}")
        }.makeAsyncIterator()
        await #expect(throws: AuthFailure.self) { try await ending.next() }

        let (tries, tried) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            let connections = SocketIOConnections(to: endpoint, pauses: Self.pauses) { _ in
                tried.yield()
                return json("{}")
            }
            return try await Self.next(of: connections.makeAsyncIterator())?.id
        }
        var iterator = tries.makeAsyncIterator()
        for _ in 0..<3 { await iterator.next() }
        task.cancel()
        #expect(try await task.value == nil)
    }

    @Test("Pauses grow up to a maximum, with jitter")
    func backoff() {
        let pauses = SocketIOConnections.Pauses()
        #expect(pauses.pause(after: 1, chance: 1) == .milliseconds(250))
        #expect(pauses.pause(after: 1, chance: 0) == .milliseconds(125))
        #expect(pauses.pause(after: 3, chance: 1) == .seconds(1))
        #expect(pauses.pause(after: 1_000, chance: 1) == .seconds(5))
    }

    private static func next(of iterator: SocketIOConnections.Iterator) async throws -> SocketIOConnection? {
        var iterator = iterator
        return try await iterator.next()
    }
}
