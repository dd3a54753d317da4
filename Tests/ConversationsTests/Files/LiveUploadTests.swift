import ConversationsAPI
import Dispatch
import Foundation
import Glibc
import Hummingbird
import Logging
import NIOCore
import ServiceHost
import TestSupport
import Testing

/// Uploads over real connections, which break off in the middle.
@Suite struct LiveUploadTests {
    @Test(arguments: ["content-length: 5000000", "transfer-encoding: chunked", "form"])
    func whoGoesAwayInTheMiddleLeavesNothing(way: String) async throws {
        try await withFiles { scene async throws in
            try await withServer(scene.scene.service) { port in
                let connection = try await RawClient(port: port)
                let isForm = way == "form"
                let framing = isForm ? "transfer-encoding: chunked" : way
                let type = isForm ? Form.contentType : "application/octet-stream"
                try await connection.send(
                    """
                    POST \(scene.path) HTTP/1.1\r\nhost: a\r\nauthorization: Bearer \(scene.bob.token)\r
                    content-type: \(type)\r\n\(framing)\r\n\r\n
                    """
                )
                var form = Form()
                form.add(file: [UInt8](repeating: 1, count: 300_000), named: "a")
                let bytes = isForm ? Array(form.bytes.dropLast(2)) : [UInt8](repeating: 1, count: 300_000)
                let isChunked = framing.hasPrefix("transfer")
                try await connection.send(
                    (isChunked ? Array("\(String(bytes.count, radix: 16))\r\n".utf8) : []) + bytes
                )
                try await eventually { scene.files.contains { $0.hasPrefix("incoming/") } }
                #expect(try await scene.noted() == 1)

                connection.close()

                try await eventually { try await scene.noted() == 0 }
                try await scene.expectNothing()
            }
        }
    }

    @Test func whatIsTooLargeIsToldBeforeAByteIsSent() async throws {
        try await withFiles { scene async throws in
            try await withServer(scene.scene.service) { port in
                let connection = try await RawClient(port: port)
                try await connection.send(
                    """
                    POST \(scene.path) HTTP/1.1\r\nhost: a\r\nauthorization: Bearer \(scene.bob.token)\r
                    content-type: video/mp4\r\ncontent-length: 20971521\r\n\r\n
                    """
                )
                #expect(try await connection.receive().hasPrefix("HTTP/1.1 413"))
                connection.close()
                try await scene.expectNothing()
            }
        }
    }

    @Test func aLargeFileComesBackWholeToWhoReadsSlowly() async throws {
        try await withFiles { scene async throws in
            try await withServer(scene.scene.service) { port in
                let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) }
                let link = try #require(try await scene.bob.upload(bytes, to: scene.path).json["data"].string)
                let path = try #require(link.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).last)
                let connection = try await RawClient(port: port)
                try await connection.send("GET /\(path) HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
                var received: [UInt8] = []
                while let piece = try await connection.bytes(10_000) { received += piece }
                #expect(Array(received.suffix(bytes.count)) == bytes)
                #expect(String(decoding: received.prefix(15), as: UTF8.self) == "HTTP/1.1 200 OK")
                connection.close()
            }
        }
    }
}

/// Serves a service on a port of its own for as long as `body` runs.
private func withServer(_ service: TestService, _ body: (Int) async throws -> Void) async throws {
    let (ports, bound) = AsyncStream<Int>.makeStream()
    let application = Application(
        responder: service.assembled.responder,
        configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
        onServerRunning: { channel in bound.yield(channel.localAddress?.port ?? 0) },
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    )
    try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask { try await application.run() }
        for await port in ports.prefix(1) { try await body(port) }
        tasks.cancelAll()
    }
}

/// A TCP connection whose calls block threads of their own.
private final class RawClient: Sendable {
    private let socket: Int32
    private let queue = DispatchQueue(label: "raw client")

    init(port: Int) async throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw TestSupportError("cannot connect") }
    }

    func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) async throws {
        try await blocking { [socket] in
            var sent = 0
            while sent < bytes.count {
                let count = bytes.withUnsafeBytes {
                    Glibc.send(
                        socket,
                        $0.baseAddress.map { $0 + sent },
                        bytes.count - sent,
                        0
                    )
                }
                guard count > 0 else { throw TestSupportError("cannot send") }
                sent += count
            }
        }
    }

    /// The next bytes as text.
    func receive() async throws -> String { String(decoding: try await bytes(65_536) ?? [], as: UTF8.self) }

    /// Nil at the end.
    func bytes(_ count: Int) async throws -> [UInt8]? {
        try await blocking { [socket] in
            var bytes = [UInt8](repeating: 0, count: count)
            let received = recv(socket, &bytes, count, 0)
            guard received >= 0 else { throw TestSupportError("cannot receive") }
            return received == 0 ? nil : Array(bytes[..<received])
        }
    }

    func close() { Glibc.close(socket) }

    private func blocking<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try work() }) }
        }
    }
}
