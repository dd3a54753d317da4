import Blobs
import NIOCore
import TestSupport
import Testing

/// A real full disk: a file system in memory of one megabyte, which only root can mount.
@Suite("Full disk", .enabled(if: SmallDisk.isPossible)) struct FullDiskTests {
    @Test("A blob that does not fit leaves no file, and a smaller one still fits")
    func noSpace() async throws {
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

    @Test("A disk without free files counts as full")
    func noInodes() async throws {
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
