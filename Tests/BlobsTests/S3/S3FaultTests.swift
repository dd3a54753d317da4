@testable import Blobs
import ChildProcesses
import NIOCore
import TestSupport
import Testing

/// A bucket that is unavailable, refuses, breaks off or is full.
@Suite("Faults of S3") struct S3FaultTests {
    private static let part = S3Fixture.partSize

    @Test("A put while the server is killed fails, and after its restart the store works")
    func killedServer() async throws {
        try await S3Server.with { server in
            try await withBucket(of: server) { bucket in
                let store = try bucket.store { $0.attempts = 2 }
                let (before, _) = try await store.put([1, 2, 3])
                let key = BlobKey.random()
                let error = await #expect(throws: BlobError.self) {
                    try await store.put(key, limit: 1 << 30) { sink in
                        try await sink.write(ByteBuffer(repeating: 1, count: Self.part + 1))
                        await server.kill()
                        try await sink.write(ByteBuffer(repeating: 2, count: 2 * Self.part))
                    }
                }
                #expect(error?.isUnavailable == true)
                await #expect { try await store.open(before) } throws: { ($0 as? BlobError)?.isUnavailable == true }
                await #expect { try await store.delete(key) } throws: { ($0 as? BlobError)?.isUnavailable == true }

                try await server.start()

                #expect(try await store.bytes(before) == [1, 2, 3])
                #expect(try await store.open(key) == nil)
                #expect(try await bucket.uploads(of: key).count == 1)
                try await store.delete(key)
                #expect(try await bucket.uploads(of: key).isEmpty)
                let (after, _) = try await store.put([UInt8](repeating: 3, count: Self.part + 1), pieces: 500_000)
                #expect(try await store.open(after)?.size == Int64(Self.part + 1))
            }
        }
    }

    @Test("An unreachable server is reported as unavailable")
    func unreachableServer() async throws {
        try await withBucket { bucket in
            let port = try LoopbackPort.free()
            let store = try bucket.store { $0.endpoint = "http://127.0.0.1:\(port.number)" }
            for attempt in [{ _ = try await store.put([1]) }, { _ = try await store.open(.random()) }] {
                await #expect { try await attempt() } throws: { ($0 as? BlobError)?.isUnavailable == true }
            }
        }
    }

    @Test(
        "Wrong credentials or a missing bucket are reported as unavailable, without a retry",
        arguments: ["accessKey", "secretKey", "bucket"]
    )
    func wrongCredentials(setting: String) async throws {
        try await withBucket { bucket in
            let wire = try FaultProxy(to: bucket.server.port.number) { _, _ in .pass }
            defer { wire.stop() }
            let store = try bucket.store {
                $0.endpoint = "http://127.0.0.1:\(wire.port)"
                switch setting {
                case "accessKey": $0.accessKey = "somebodyelse"
                case "secretKey": $0.secretKey += "x"
                default: $0.bucket = "not-there"
                }
            }
            if setting != "bucket" {
                await #expect { try await store.put([1]) } throws: { ($0 as? BlobError)?.isUnavailable == true }
                // Not retried, because the result would be the same; then the possible leftover is deleted.
                #expect(wire.lines.count { $0.hasPrefix("PUT") } == 1)
            }
            await #expect { try await store.delete(.random()) } throws: { ($0 as? BlobError)?.isUnavailable == true }
            #expect(try await bucket.objects().isEmpty)
        }
    }

    @Test(
        "Transient errors are retried",
        arguments: [(503, "SlowDown"), (500, "InternalError"), (400, "RequestTimeout")]
    )
    func retry(status: Int, code: String) async throws {
        // The response to a HEAD has only a status, so a 400 cannot be recognised as transient.
        let act: @Sendable (String, Int) -> FaultProxy.Fault = { line, before in
            before < 2 && (status != 400 || !line.hasPrefix("HEAD")) ? .error(status, code) : .pass
        }
        try await withWire(act) { bucket, store, _ async throws in
            let bytes = Sample.bytes(Self.part + 70_000)
            let (key, _) = try await store.put(bytes, pieces: 300_000)
            #expect(try await store.bytes(key) == bytes)
            try await store.delete(key)
            #expect(try await bucket.objects().isEmpty)
        }
    }

    @Test("A put fails after three attempts")
    func permanentErrors() async throws {
        try await withWire({ _, _ in .error(503, "SlowDown") }) { _, store, wire async throws in
            await #expect { try await store.put([1]) } throws: { ($0 as? BlobError)?.isUnavailable == true }
            #expect(wire.lines.count { $0.hasPrefix("PUT") } == 3)
        }
    }

    @Test(
        "A full storage is reported as such and leaves no upload",
        arguments: [(507, "XMinioStorageFull"), (403, "QuotaExceeded")],
        [1, part + 1]
    )
    func fullStorage(refusal: (status: Int, code: String), size: Int) async throws {
        let act: @Sendable (String, Int) -> FaultProxy.Fault = { line, _ in
            line.hasPrefix("PUT") ? .error(refusal.status, refusal.code) : .pass
        }
        try await withWire(act) { bucket, store, wire async throws in
            let key = BlobKey.random()
            await #expect(throws: BlobError.noSpace) {
                try await store.put(key, limit: 1 << 30) { try await $0.write(ByteBuffer(repeating: 1, count: size)) }
            }
            #expect(try await bucket.uploads(of: key).isEmpty)
            #expect(try await bucket.objects().isEmpty)
        }
    }

    @Test("A server that does not respond is tried three times")
    func silentServer() async throws {
        try await withWire(timeout: .seconds(3), { _, _ in .silence }) { _, store, wire async throws in
            await #expect { try await store.open(.random()) } throws: { ($0 as? BlobError)?.isUnavailable == true }
            #expect(wire.lines.count == 3)
        }
    }

    @Test("A read that breaks off resumes where it stopped", arguments: [1_000, 70_000, 900_000])
    func resumesReading(count: Int) async throws {
        let act: @Sendable (String, Int) -> FaultProxy.Fault = { line, before in
            line.hasPrefix("GET") && before < 3 ? .cutResponse(after: count) : .pass
        }
        try await withWire(act) { _, store, wire async throws in
            let bytes = Sample.bytes(3_000_000)
            let (key, _) = try await store.put(bytes, pieces: 65_536)
            #expect(try await store.bytes(key, 7..<2_999_999) == Array(bytes[7..<2_999_999]))
            #expect(wire.lines.count { $0.hasPrefix("GET") } == 4)
        }
    }

    @Test("An error of the reader is not retried")
    func readerError() async throws {
        try await withWire({ _, _ in .pass }) { _, store, wire async throws in
            let (key, _) = try await store.put([UInt8](repeating: 1, count: 500_000), pieces: 65_536)
            let blob = try #require(try await store.open(key))
            await #expect(throws: TestError.self) { try await blob.read(0..<blob.size) { _ in throw TestError() } }
            #expect(wire.lines.count { $0.hasPrefix("GET") } == 1)
        }
    }

    @Test("A put whose response was lost succeeds once", arguments: [1, part + 1])
    func lostResponse(size: Int) async throws {
        // The last request of a put: the object itself, or the completion of the upload.
        let act: @Sendable (String, Int) -> FaultProxy.Fault = { line, before in
            let isLast = size == 1 ? line.hasPrefix("PUT") : line.hasPrefix("POST") && line.contains("?uploadId=")
            return isLast && before < 2 ? .loseResponse : .pass
        }
        try await withWire(act) { bucket, store, _ async throws in
            let bytes = Sample.bytes(size)
            let (key, stored) = try await store.put(bytes, pieces: 1_000_000)
            #expect(stored.size == Int64(size))
            #expect(try await store.bytes(key) == bytes)
            #expect(try await bucket.uploads(of: key).isEmpty)
        }
    }

    @Test("A put that fails after lost responses leaves no object")
    func lostResponseDeletesBlob() async throws {
        let act: @Sendable (String, Int) -> FaultProxy.Fault = { line, _ in
            line.hasPrefix("PUT") ? .loseResponse : .pass
        }
        try await withWire(act) { bucket, store, _ async throws in
            await #expect { try await store.put([1]) } throws: { ($0 as? BlobError)?.isUnavailable == true }
            #expect(try await bucket.objects().isEmpty)
        }
    }

    @Test("A completion that answers 200 with an error in the body is a failure")
    func errorInSuccess() async throws {
        let body = "<?xml version=\"1.0\"?>\n<Error><Code>InternalError</Code></Error>"
        let act: @Sendable (String, Int) -> FaultProxy.Fault = { line, _ in
            guard line.hasPrefix("POST"), line.contains("?uploadId=") else { return .pass }
            return .answer("HTTP/1.1 200 OK\r\ncontent-length: \(body.utf8.count)\r\n\r\n\(body)")
        }
        try await withWire(act) { bucket, store, _ async throws in
            let key = BlobKey.random()
            await #expect {
                try await store.put(key, limit: 1 << 30) {
                    try await $0.write(ByteBuffer(repeating: 1, count: Self.part + 1))
                }
            } throws: {
                ($0 as? BlobError)?.isUnavailable == true
            }
            #expect(try await bucket.uploads(of: key).isEmpty)
            #expect(try await bucket.objects().isEmpty)
        }
    }

    /// Runs the body with a store that reaches its bucket through a fault proxy.
    private func withWire(
        timeout: Duration = .seconds(60),
        _ act: @escaping @Sendable (String, Int) -> FaultProxy.Fault,
        _ body: (S3Fixture, S3BlobStore, FaultProxy) async throws -> Void
    ) async throws {
        try await withBucket { bucket in
            let wire = try FaultProxy(to: bucket.server.port.number, act)
            defer { wire.stop() }
            let store = try bucket.store {
                $0.endpoint = "http://127.0.0.1:\(wire.port)"
                $0.timeout = timeout
            }
            try await body(bucket, store, wire)
        }
    }
}

extension BlobError {
    fileprivate var isUnavailable: Bool { if case .unavailable = self { true } else { false } }
}
