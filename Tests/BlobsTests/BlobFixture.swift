import Blobs
import Foundation
import NIOCore

/// A folder of the test's own.
struct BlobFolder {
    let path: String

    func store() throws -> FolderBlobStore { try FolderBlobStore(path: path) }

    /// All files below the folder, by relative path.
    var files: [String] {
        let found = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        return found.filter { !isFolder($0) }.sorted()
    }

    /// The permissions of a file or folder.
    func mode(_ name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: name.isEmpty ? path : "\(path)/\(name)")
        return attributes[.posixPermissions] as? Int ?? 0
    }

    private func isFolder(_ name: String) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: "\(path)/\(name)", isDirectory: &isFolder) && isFolder.boolValue
    }
}

/// Makes a folder, and removes it at the end of the scope.
func withFolder<Value>(_ body: (BlobFolder) async throws -> Value) async throws -> Value {
    let path = NSTemporaryDirectory() + "blobs-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try await body(BlobFolder(path: path))
}

extension BlobStore {
    /// Puts bytes in pieces of this size.
    func put(_ bytes: [UInt8], limit: Int64 = 1 << 30, pieces: Int = 1_000) async throws -> (BlobKey, StoredBlob) {
        let key = BlobKey.random()
        let stored = try await put(key, limit: limit) { sink in
            for start in stride(from: 0, to: bytes.count, by: pieces) {
                try await sink.write(ByteBuffer(bytes: bytes[start..<min(start + pieces, bytes.count)]))
            }
        }
        return (key, stored)
    }

    /// The bytes of a blob or of a range of it; nil if there is no blob.
    func bytes(_ key: BlobKey, _ range: Range<Int64>? = nil) async throws -> [UInt8]? {
        guard let blob = try await open(key) else { return nil }
        var bytes: [UInt8] = []
        try await blob.read(range ?? 0..<blob.size) { bytes += $0.readableBytesView }
        return bytes
    }
}

/// Pseudorandom numbers, the same in each run (SplitMix64).
struct SeededNumbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }
}

struct TestError: Error {}
