import Blobs
import Crypto
import Foundation
import NIOCore

/// Forwards the bytes of an image and computes their hash, which identifies repeated uploads.
final class ImageSink: BlobSink {
    private let sink: any BlobSink
    private var hash = SHA256()

    init(_ sink: any BlobSink) {
        self.sink = sink
    }

    func write(_ bytes: ByteBuffer) async throws {
        bytes.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
        try await sink.write(bytes)
    }

    var sha256: [UInt8] { Array(hash.finalize()) }
}

struct ReceivedImage: Sendable {
    let path: String
    let size: Int64
    let sha256: [UInt8]
}
