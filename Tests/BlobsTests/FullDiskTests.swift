import Blobs
import NIOCore
import TestSupport
import Testing

/// A disk that is full, a real one: a file system in memory of a megabyte, which only root can mount.
@Suite(.enabled(if: SmallDisk.isPossible)) struct FullDiskTests {
    @Test func aBlobThatDoesNotFitLeavesNothingAndOthersStillFit() async throws {
        try await SmallDisk.with { path in
            let folder = BlobFolder(path: path)
            let store = try folder.store()
            let (first, _) = try await store.put([UInt8](repeating: 1, count: 300_000))
            await #expect(throws: BlobError.noSpace) {
                try await store.put([UInt8](repeating: 2, count: 2_000_000))
            }
            #expect(folder.files == ["\(first.folder)/\(first)"])

            let (second, _) = try await store.put([UInt8](repeating: 3, count: 300_000))
            #expect(try await store.bytes(first) == [UInt8](repeating: 1, count: 300_000))
            #expect(try await store.bytes(second) == [UInt8](repeating: 3, count: 300_000))
        }
    }

    @Test func withoutASingleFreeFileItIsFullToo() async throws {
        try await SmallDisk.with(files: 4) { path in
            let folder = BlobFolder(path: path)
            let store = try folder.store()
            await #expect(throws: BlobError.noSpace) {
                for _ in 0..<4 { _ = try await store.put([1]) }
            }
            #expect(!folder.files.contains { $0.hasPrefix("incoming/") })
        }
    }
}
