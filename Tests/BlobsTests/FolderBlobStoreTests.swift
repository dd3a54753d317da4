import Blobs
import Foundation
import NIOCore
import Testing

@Suite("Blob store in a folder") struct FolderBlobStoreTests {
    @Test(
        "A blob of any size, written in pieces of any size, is read back",
        arguments: [0, 1, 65_535, 65_536, 65_537, 131_072, 131_073, 1_000_000],
        [777, 65_536, 200_000]
    )
    func putAndRead(size: Int, pieces: Int) async throws {
        try await withFolder { folder in
            let store = try folder.store()
            var numbers = SeededNumbers(state: UInt64(size))
            let bytes = numbers.bytes(size)
            let (key, stored) = try await store.put(bytes, pieces: pieces)

            #expect(stored.size == Int64(size))
            #expect(try await store.bytes(key) == bytes)
        }
    }

    @Test("Small and large pieces keep their order")
    func mixedPieces() async throws {
        try await withFolder { folder in
            let store = try folder.store()
            var numbers = SeededNumbers(state: 7)
            let pieces = [1, 70_000, 300, 65_536, 50_000, 50_000, 65_535, 131_072, 10].map { numbers.bytes($0) }
            let key = BlobKey.random()
            _ = try await store.put(key, limit: 1 << 20) { sink in
                for piece in pieces { try await sink.write(ByteBuffer(bytes: piece)) }
            }

            #expect(try await store.bytes(key) == pieces.flatMap(\.self))
        }
    }

    @Test("Any range is read, in small pieces")
    func ranges() async throws {
        try await withFolder { folder in
            let store = try folder.store()
            var numbers = SeededNumbers(state: 1)
            let bytes = numbers.bytes(300_000)
            let (key, _) = try await store.put(bytes)

            for range in [0..<1, 65_535..<65_537, 299_999..<300_000, 10..<200_000, 5..<5, 299_999..<400_000, -3..<2] {
                let part = bytes[range.clamped(to: 0..<bytes.count)]
                #expect(try await store.bytes(key, Int64(range.lowerBound)..<Int64(range.upperBound)) == Array(part))
            }
            let blob = try #require(try await store.open(key))
            try await blob.read(0..<blob.size) { #expect($0.readableBytes <= BlobLimits.piece) }
        }
    }

    @Test("A blob is visible only once it is complete")
    func atomicPut() async throws {
        try await withFolder { folder in
            let store = try folder.store()
            let key = BlobKey.random()
            _ = try await store.put(key, limit: 1_000_000) { sink in
                try await sink.write(ByteBuffer(repeating: 1, count: 500_000))
                #expect(try await store.open(key) == nil)
                #expect(folder.files.count == 1)
                #expect(folder.files[0].hasPrefix("incoming/"))
            }
            #expect(folder.files == ["\(key.folder)/\(key)"])
        }
    }

    @Test("A blob over the limit is rejected while it is written, and leaves no file")
    func tooLarge() async throws {
        try await withFolder { folder in
            let store = try folder.store()
            _ = try await store.put([UInt8](repeating: 1, count: 1_000), limit: 1_000)
            let before = folder.files
            var written = 0
            await #expect(throws: BlobError.tooLarge(limit: 1_000)) {
                try await store.put(.random(), limit: 1_000) { sink in
                    while written < 1_000_000 {
                        try await sink.write(ByteBuffer(repeating: 1, count: 300))
                        written += 300
                    }
                }
            }
            #expect(written == 900)
            #expect(folder.files == before)
        }
    }

    @Test("A blob over the limit is rejected even if the source ignores the error")
    func swallowedSizeError() async throws {
        try await withFolder { folder in
            let store = try folder.store()
            await #expect(throws: BlobError.tooLarge(limit: 10)) {
                try await store.put(.random(), limit: 10) { sink in
                    try? await sink.write(ByteBuffer(repeating: 1, count: 11))
                }
            }
            #expect(folder.files.isEmpty)
        }
    }

    @Test("An error of the source leaves no file")
    func sourceError() async throws {
        try await withFolder { folder in
            let store = try folder.store()
            await #expect(throws: TestError.self) {
                try await store.put(.random(), limit: 1_000_000) { sink in
                    try await sink.write(ByteBuffer(repeating: 1, count: 500_000))
                    throw TestError()
                }
            }
            #expect(folder.files.isEmpty)
        }
    }

    @Test("A cancelled put leaves no file")
    func cancelled() async throws {
        try await withFolder { folder in
            let store = try folder.store()
            let (reached, reach) = AsyncStream<Void>.makeStream()
            let task = Task {
                try await store.put(.random(), limit: 1_000_000) { sink in
                    try await sink.write(ByteBuffer(repeating: 1, count: 500_000))
                    reach.yield()
                    while true {
                        try Task.checkCancellation()
                        await Task.yield()
                    }
                }
            }
            for await _ in reached.prefix(1) {}
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(folder.files.isEmpty)
        }
    }

    @Test("Deleting twice, or an unknown key, succeeds")
    func deleteTwice() async throws {
        try await withFolder { folder in
            let store = try folder.store()
            let (key, _) = try await store.put([1, 2, 3])
            try await store.delete(key)
            try await store.delete(key)
            try await store.delete(.random())
            #expect(try await store.open(key) == nil)
            #expect(folder.files.isEmpty)
        }
    }

    @Test("A blob that is deleted while it is read is still read to its end")
    func deletionWhileReading() async throws {
        try await withFolder { folder in
            let store = try folder.store()
            let (key, _) = try await store.put([UInt8](repeating: 7, count: 200_000))
            let blob = try #require(try await store.open(key))
            try await store.delete(key)
            var count = 0
            try await blob.read(0..<blob.size) { count += $0.readableBytes }
            #expect(count == 200_000)
        }
    }

    @Test("Folders and files are accessible only to their owner")
    func permissions() async throws {
        try await withFolder { folder in
            let (key, _) = try await folder.store().put([1])
            #expect(try folder.mode("") == 0o700)
            #expect(try folder.mode("incoming") == 0o700)
            #expect(try folder.mode(key.folder) == 0o700)
            #expect(try folder.mode("\(key.folder)/\(key)") == 0o600)
        }
    }

    @Test("A new store removes the leftovers of a crashed one, but not a put that is under way")
    func removesLeftovers() async throws {
        try await withFolder { folder in
            let store = try folder.store()
            let (kept, _) = try await store.put([1])
            let left = "\(folder.path)/incoming/\(BlobKey.random())"
            #expect(FileManager.default.createFile(atPath: left, contents: Data([1, 2])))
            let (key, _) = (BlobKey.random(), ())
            _ = try await store.put(key, limit: 10) { sink in
                try await sink.write(ByteBuffer(bytes: [1]))
                _ = try folder.store()
                #expect(!FileManager.default.fileExists(atPath: left))
                #expect(folder.files.count == 2)
            }
            #expect(folder.files == ["\(kept.folder)/\(kept)", "\(key.folder)/\(key)"].sorted())
        }
    }

    @Test("A path that is no folder is no store")
    func unwritableFolder() async throws {
        try await withFolder { folder in
            #expect(FileManager.default.createFile(atPath: folder.path, contents: Data()))
            #expect(throws: (any Error).self) { try folder.store() }
        }
    }

    @Test("Concurrent puts do not interfere")
    func concurrentPuts() async throws {
        try await withFolder { folder in
            let store = try folder.store()
            let keys = try await withThrowingTaskGroup(of: (BlobKey, UInt8).self) { tasks in
                for number in 0..<64 as Range<UInt8> {
                    tasks.addTask { (try await store.put([UInt8](repeating: number, count: 150_000)).0, number) }
                }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }
            for (key, number) in keys {
                #expect(try await store.bytes(key) == [UInt8](repeating: number, count: 150_000))
            }
            #expect(folder.files.count == 64)
        }
    }
}
