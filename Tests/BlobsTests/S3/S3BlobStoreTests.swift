@testable import Blobs
import NIOCore
import TestSupport
import Testing

/// The behaviour of every blob store, in a bucket of SeaweedFS.
@Suite("Blob store in a bucket") struct S3BlobStoreTests {
    private static let part = S3Fixture.partSize

    @Test(
        "A blob of any size, written in pieces of any size, is read back",
        arguments: zip(
            [0, 1, 65_537, part - 1, part, part, part + 1, 2 * part, 2 * part + 70_000],
            [1, 1, 65_536, 65_536, 65_536, 999_999, 999_999, 65_536, 999_999]
        )
    )
    func putAndRead(size: Int, pieces: Int) async throws {
        try await withBucket { bucket in
            let store = try bucket.store()
            let bytes = Sample.bytes(size)
            let (key, stored) = try await store.put(bytes, pieces: pieces)

            #expect(stored.size == Int64(size))
            #expect(try await store.bytes(key) == bytes)
            #expect(try await bucket.objects() == ["\(key.folder)/\(key)"])
            #expect(try await bucket.uploads(of: key).isEmpty)
        }
    }

    @Test("Any range is read, in small pieces")
    func ranges() async throws {
        try await withBucket { bucket in
            let store = try bucket.store()
            let bytes = Sample.bytes(300_000)
            let (key, _) = try await store.put(bytes)

            for range in [0..<1, 65_535..<65_537, 299_999..<300_000, 10..<200_000, 5..<5, 299_999..<400_000, -3..<2] {
                let part = bytes[range.clamped(to: 0..<bytes.count)]
                #expect(try await store.bytes(key, Int64(range.lowerBound)..<Int64(range.upperBound)) == Array(part))
            }
            let blob = try #require(try await store.open(key))
            try await blob.read(0..<blob.size) { #expect($0.readableBytes <= BlobLimits.piece) }
        }
    }

    @Test("The media type comes from the bytes")
    func mediaType() async throws {
        try await withBucket { bucket in
            let store = try bucket.store()
            let (_, image) = try await store.put([0xFF, 0xD8, 0xFF, 0xE0] + [UInt8](repeating: 0, count: 100))
            let (_, text) = try await store.put([UInt8](repeating: 0x61, count: Self.part + 10), pieces: 500_000)
            #expect(image.mediaType == "image/jpeg")
            #expect(text.mediaType == "text/plain")
        }
    }

    @Test("A blob is visible only once it is complete")
    func atomicPut() async throws {
        try await withBucket { bucket in
            let store = try bucket.store()
            let key = BlobKey.random()
            _ = try await store.put(key, limit: 1 << 30) { sink in
                try await sink.write(ByteBuffer(repeating: 1, count: Self.part + 1))
                #expect(try await store.open(key) == nil)
                #expect(try await bucket.objects().isEmpty)
                #expect(try await bucket.uploads(of: key).count == 1)
            }
            #expect(try await bucket.objects() == ["\(key.folder)/\(key)"])
        }
    }

    @Test("A blob over the limit is rejected while it is written, and leaves no object or upload")
    func tooLarge() async throws {
        try await withBucket { bucket in
            let store = try bucket.store()
            let (key, limit) = (BlobKey.random(), Int64(Self.part + 5))
            await #expect(throws: BlobError.tooLarge(limit: limit)) {
                try await store.put(key, limit: limit) { sink in
                    try await sink.write(ByteBuffer(repeating: 1, count: Self.part + 5))
                    #expect(try await bucket.uploads(of: key).count == 1)
                    try await sink.write(ByteBuffer(repeating: 1, count: 1))
                }
            }
            #expect(try await bucket.objects().isEmpty)
            #expect(try await bucket.uploads(of: key).isEmpty)
        }
    }

    @Test("An error of the source leaves no object or upload", arguments: [1, part + 1])
    func sourceError(size: Int) async throws {
        try await withBucket { bucket in
            let store = try bucket.store()
            let key = BlobKey.random()
            await #expect(throws: TestError.self) {
                try await store.put(key, limit: 1 << 30) { sink in
                    try await sink.write(ByteBuffer(repeating: 1, count: size))
                    throw TestError()
                }
            }
            #expect(try await bucket.objects().isEmpty)
            #expect(try await bucket.uploads(of: key).isEmpty)
        }
    }

    @Test("A cancelled put leaves no object or upload")
    func cancelled() async throws {
        try await withBucket { bucket in
            let store = try bucket.store()
            let key = BlobKey.random()
            let (reached, reach) = AsyncStream<Void>.makeStream()
            let task = Task {
                try await store.put(key, limit: 1 << 30) { sink in
                    try await sink.write(ByteBuffer(repeating: 1, count: Self.part + 1))
                    reach.yield()
                    while true {
                        try Task.checkCancellation()
                        await Task.yield()
                    }
                }
            }
            for await _ in reached.prefix(1) {}
            #expect(try await bucket.uploads(of: key).count == 1)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(try await bucket.objects().isEmpty)
            #expect(try await bucket.uploads(of: key).isEmpty)
        }
    }

    @Test("Deleting twice, or an unknown key, succeeds")
    func deleteTwice() async throws {
        try await withBucket { bucket in
            let store = try bucket.store()
            let (key, _) = try await store.put([1, 2, 3])
            let (other, _) = try await store.put([4])
            try await store.delete(key)
            try await store.delete(key)
            try await store.delete(.random())
            #expect(try await store.open(key) == nil)
            #expect(try await store.bytes(other) == [4])
        }
    }

    @Test("Deleting a blob aborts its unfinished uploads, but not those of others")
    func deletingAbortsUploads() async throws {
        try await withBucket { bucket in
            let store = try bucket.store()
            let (key, other) = (BlobKey.random(), BlobKey.random())
            let connection = try S3Connection(bucket.configuration)
            for begun in [key, key, other] { _ = try await connection.begin(begun, mediaType: "image/png") }
            #expect(try await bucket.uploads(of: key).count == 2)

            try await store.delete(key)

            #expect(try await bucket.uploads(of: key).isEmpty)
            // The upload of another blob is not touched.
            #expect(try await bucket.uploads(of: other).count == 1)
            try await store.delete(other)
        }
    }

    @Test("Reading a blob that was deleted fails with a 404")
    func deletionWhileReading() async throws {
        try await withBucket { bucket in
            let store = try bucket.store()
            let (key, _) = try await store.put([1, 2, 3])
            let blob = try #require(try await store.open(key))
            try await store.delete(key)
            await #expect(throws: BlobError.failed("read a blob that was deleted", code: 404)) {
                try await blob.read(0..<3) { _ in }
            }
        }
    }

    @Test("Concurrent puts do not interfere")
    func concurrentPuts() async throws {
        try await withBucket { bucket in
            let store = try bucket.store()
            let kept = try await withThrowingTaskGroup(of: (BlobKey, [UInt8]).self) { tasks in
                for number in 0..<40 {
                    tasks.addTask {
                        let bytes = Sample.bytes(20_000 + number)
                        return (try await store.put(bytes).0, bytes)
                    }
                }
                return try await tasks.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            for (key, bytes) in kept { #expect(try await store.bytes(key) == bytes) }
            #expect(try await bucket.objects().count == 40)
        }
    }
}

enum Sample {
    /// So long that no two parts or pieces are equal.
    private static let block = (0..<65_537).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7 ^ $0) }

    /// Bytes that are not text, the same in each run.
    static func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count { bytes += block.prefix(count - bytes.count) }
        return bytes
    }
}
