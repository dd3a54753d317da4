import Crypto
import Foundation

/// SHA-256 checksums of files, read one megabyte at a time.
enum Checksum {
    static func of(_ path: String, as name: String) throws -> BackedUpPart {
        let file = try FileHandle(forReadingFrom: URL(filePath: path))
        defer {
            // The file was only read, so closing it loses no data.
            try? file.close()
        }
        var hash = SHA256()
        var bytes = 0
        while let piece = try file.read(upToCount: 1 << 20), !piece.isEmpty {
            try Task.checkCancellation()
            hash.update(data: piece)
            bytes += piece.count
        }
        return BackedUpPart(name: name, bytes: bytes, sha256: hex(hash.finalize()))
    }

    static func of(_ bytes: Data) -> String { hex(SHA256.hash(data: bytes)) }

    static func hex(_ digest: SHA256.Digest) -> String {
        digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
