import Foundation
import PhotosAPI
import Postgres
import TestSupport
import Testing
import Wire

@testable import PhotosServer

@Suite("Slow readers of streams") struct SlowReaderTests {
    private static let path = "/photos/posts/stream"

    @Test("A client that stops reading is disconnected after the write timeout")
    func writeTimeout() async throws {
        try await withPhotos(
            settings: ["STREAMS_MAX": "2"],
            change: { $0.liveUpdates.writeTimeout = .seconds(10) }
        ) { fixture in
            let last = try await Self.longPosts(in: fixture)
            try await fixture.service.served { port in
                try await EventStreamClient.with(
                    port: port,
                    Self.path,
                    token: fixture.eve.token,
                    limit: .seconds(300)
                ) { reader in
                    #expect(await reader.event()?.name == "ready")
                    let slowClient = try SlowClient(port: port, Self.path, token: fixture.bob.token)
                    #expect(slowClient.head.hasPrefix("HTTP/1.1 200"))
                    // Ten megabytes exceed the buffers of the system for one connection.
                    var sent = 0
                    for _ in 0..<12 {
                        try await Self.recordChanges(in: fixture)
                        var received = ""
                        while !received.contains(last) {
                            received = try #require(await reader.event()).data
                            sent += received.utf8.count
                        }
                    }
                    // The stream of the slow client no longer counts, although the client is still connected. A shorter
                    // write timeout could also disconnect the reader on a busy machine.
                    try await eventually(within: .seconds(60)) {
                        try await EventStreamClient.with(port: port, Self.path, token: fixture.ann.token) {
                            $0.status == 200
                        }
                    }
                    let (count, end) = slowClient.readToEnd()
                    #expect((10_000...sent / 2).contains(count), "of \(sent)")
                    #expect(!end.hasSuffix("0\r\n\r\n"), "the response must not end as if it were complete")
                }
            }
        }
    }

    /// Inserts a hundred posts of eight kilobytes each and returns the id of the newest.
    private static func longPosts(in fixture: PhotosFixture) async throws -> String {
        try await fixture.createProfiles(fixture.ann)
        try await fixture.insertPosts(100, by: fixture.ann)
        try await fixture.service.database.pool.run("UPDATE posts SET text = repeat('😀', 1999)")
        return try #require(try await fixture.ann.photos.posts(limit: 1).items.first).postId
    }

    /// Records a change of every post, in the order of creation.
    private static func recordChanges(in fixture: PhotosFixture) async throws {
        try await fixture.service.database.pool.run(
            """
            INSERT INTO pending_changes (application_id, kind, author_id, number)
            SELECT people.application_id, 'post.changed', posts.author_id, posts.number
            FROM posts JOIN people ON people.person_id = posts.author_id ORDER BY posts.number
            """
        )
        // Any request that may change data triggers reading the changes.
        _ = try await fixture.ann.photos.update(ProfileChanges())
    }
}

/// A client that opens a stream and reads only the head of the response.
private final class SlowClient {
    private let socket: Int32
    let head: String

    init(port: Int, _ path: String, token: String) throws {
        let socket = try Self.connection(port: port)
        self.socket = socket
        let request = "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \(token)\r\n\r\n"
        _ = send(socket, request, request.utf8.count, 0)
        var bytes: [UInt8] = []
        while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            var byte: UInt8 = 0
            guard recv(socket, &byte, 1, 0) == 1 else { break }
            bytes.append(byte)
        }
        head = String(decoding: bytes, as: UTF8.self)
    }

    private static func connection(port: Int) throws -> Int32 {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        // A small receive buffer keeps the system from reading for the client.
        var small: Int32 = 4_096
        setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &small, socklen_t(MemoryLayout<Int32>.size))
        var timeout = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { throw TestSupportError("there is no connection") }
        return socket
    }

    deinit { close(socket) }

    /// Reads until the connection ends, and returns the number of bytes and the last ones.
    func readToEnd() -> (count: Int, end: String) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var (count, end) = (0, [UInt8]())
        while true {
            let got = recv(socket, &buffer, buffer.count, 0)
            guard got > 0 else { return (count, String(decoding: end, as: UTF8.self)) }
            count += got
            end = (end + buffer.prefix(got)).suffix(5)
        }
    }
}
