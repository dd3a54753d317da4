import ConversationsAPI
import Foundation
import ServiceHost
import TestSupport
import Testing

/// Uploads over real connections that are interrupted.
@Suite("Uploads over real connections") struct LiveUploadTests {
    @Test(
        "An upload whose connection closes leaves no file and no message",
        arguments: ["content-length: 5000000", "transfer-encoding: chunked", "form"]
    )
    func brokenUpload(way: String) async throws {
        try await withFiles { fixture async throws in
            try await withServer(fixture.fixture.service) { port in
                let connection = try await RawClient(port: port)
                let isForm = way == "form"
                let framing = isForm ? "transfer-encoding: chunked" : way
                let type = isForm ? Form.contentType : "application/octet-stream"
                try await connection.send(
                    """
                    POST \(fixture.path) HTTP/1.1\r\nhost: a\r\nauthorization: Bearer \(fixture.bo.token)\r
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
                try await eventually { fixture.files.contains { $0.hasPrefix("incoming/") } }
                #expect(try await fixture.noted() == 1)

                connection.close()

                try await eventually { try await fixture.noted() == 0 }
                try await fixture.expectNothing()
            }
        }
    }

    @Test("An upload whose declared length exceeds the limit gets 413 before its body")
    func announcedTooLarge() async throws {
        try await withFiles { fixture async throws in
            try await withServer(fixture.fixture.service) { port in
                let connection = try await RawClient(port: port)
                try await connection.send(
                    """
                    POST \(fixture.path) HTTP/1.1\r\nhost: a\r\nauthorization: Bearer \(fixture.bo.token)\r
                    content-type: video/mp4\r\ncontent-length: 20971521\r\n\r\n
                    """
                )
                #expect(try await connection.receive().hasPrefix("HTTP/1.1 413"))
                connection.close()
                try await fixture.expectNothing()
            }
        }
    }

    @Test("A slow reader receives the whole file")
    func slowReader() async throws {
        try await withFiles { fixture async throws in
            try await withServer(fixture.fixture.service) { port in
                let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) }
                let link = try #require(try await fixture.bo.upload(bytes, to: fixture.path).json["data"].string)
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
