import Crypto
import Foundation
import NIOCore

/// The checksum in `Upload-Checksum` and the hash of the bytes so far.
struct TusChecksum: Sendable {
    /// The names of the algorithms in the protocol, which requires the first.
    static let algorithms = "sha1,sha256,sha512,md5"

    private var hash: any HashFunction & Sendable
    private let expected: Data

    /// - Throws: ``TusError/invalid(header:_:)``.
    init(_ header: String) throws {
        let parts = header.split(separator: " ")
        guard parts.count == 2, let expected = Data(base64Encoded: String(parts[1])) else {
            throw TusError.invalid(header: "Upload-Checksum", "must be an algorithm and a checksum in base64")
        }
        switch parts[0] {
        case "sha1": hash = Insecure.SHA1()
        case "sha256": hash = SHA256()
        case "sha512": hash = SHA512()
        case "md5": hash = Insecure.MD5()
        default: throw TusError.invalid(header: "Upload-Checksum", "must name one of \(Self.algorithms)")
        }
        self.expected = expected
    }

    mutating func feed(_ bytes: ByteBuffer) {
        bytes.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
    }

    /// Whether the checksum matches all bytes so far.
    var matches: Bool { Self.digest(hash).elementsEqual(expected) }

    private static func digest(_ hash: some HashFunction) -> Data { Data(hash.finalize()) }
}
