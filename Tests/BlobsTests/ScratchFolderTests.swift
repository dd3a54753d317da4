import Blobs
import Foundation
import NIOCore
import Testing

@Suite("Scratch folder") struct ScratchFolderTests {
    @Test("A temporary folder is removed after its use")
    func removedAfterUse() async throws {
        try await withFolder { folder in
            let scratch = try ScratchFolder(in: folder.path)
            let lent = try await scratch.withTemporaryFolder { path in
                let size = try await scratch.write("\(path)/a", limit: 1_000_000) { sink in
                    for byte in 0..<5 as Range<UInt8> {
                        try await sink.write(ByteBuffer(repeating: byte, count: 70_000))
                    }
                }
                #expect(size == 350_000)
                var read: [UInt8] = []
                try await scratch.read("\(path)/a") { piece in
                    #expect(piece.readableBytes <= BlobLimits.piece)
                    read += piece.readableBytesView
                }
                #expect(read == (0..<5).flatMap { [UInt8](repeating: $0, count: 70_000) })
                #expect(folder.files.count == 1)
                return path
            }
            #expect(!FileManager.default.fileExists(atPath: lent))
            #expect(folder.files.isEmpty)
        }
    }

    @Test("A temporary folder is removed after an error")
    func removedAfterError() async throws {
        try await withFolder { folder in
            let scratch = try ScratchFolder(in: folder.path)
            await #expect(throws: BlobError.tooLarge(limit: 10)) {
                try await scratch.withTemporaryFolder { path in
                    _ = try await scratch.write("\(path)/a", limit: 10) { sink in
                        try await sink.write(ByteBuffer(repeating: 1, count: 6))
                        try await sink.write(ByteBuffer(repeating: 1, count: 5))
                    }
                }
            }
            #expect(folder.files.isEmpty)
        }
    }

    @Test("A new scratch folder removes the leftovers of a dead process, but not of a live one")
    func removesLeftovers() async throws {
        try await withFolder { folder in
            let living = try ScratchFolder(in: folder.path)
            let dead = "\(folder.path)/dead"
            try FileManager.default.createDirectory(atPath: dead, withIntermediateDirectories: true)
            #expect(FileManager.default.createFile(atPath: "\(dead)/a", contents: Data([1])))
            try await living.withTemporaryFolder { path in
                _ = try await living.write("\(path)/b", limit: 10) { try await $0.write(ByteBuffer(bytes: [1])) }
                let next = try ScratchFolder(in: folder.path)
                #expect(folder.files.map { $0.suffix(2) } == ["/b"])
                try await next.withTemporaryFolder { _ in }
            }
        }
    }

    @Test("The folder is removed with its owner")
    func removedWithOwner() async throws {
        try await withFolder { folder in
            do {
                let scratch = try ScratchFolder(in: folder.path)
                try await scratch.withTemporaryFolder { _ in }
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        }
    }
}
