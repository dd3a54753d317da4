import CZlib
import NIOCore

final class DeflaterCounter {
    fileprivate(set) var count = 0
}

/// A gzip stream for one response body that buffers only a few kilobytes.
///
/// The gzip header has a file name of random length (RFC 1952). An attacker who sees only response lengths therefore
/// learns less about the content ("Heal the BREACH", Palacios 2022).
final class Deflater {
    /// Higher levels gain little compression and cost an event loop much time.
    private static let level: Int32 = 4
    private static let longestName = 64
    private static let piece = 8 * 1_024

    // zlib's state points back at the stream, so the stream must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    private let header: UnsafeMutablePointer<gz_header>
    private let name: UnsafeMutablePointer<Bytef>
    private let activeCount: DeflaterCounter?
    /// Whether compressed input has not been flushed yet.
    private(set) var hasPendingOutput = false

    /// Returns nil when zlib cannot allocate its memory.
    init?(activeCount: DeflaterCounter? = nil) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        header = .allocate(capacity: 1)
        header.initialize(to: gz_header())
        let length = Int.random(in: 1...Self.longestName)
        name = .allocate(capacity: length + 1)
        for index in 0..<length { name[index] = UInt8.random(in: UInt8(ascii: "a")...UInt8(ascii: "z")) }
        name[length] = 0
        self.activeCount = activeCount
        activeCount?.count += 1
        header.pointee.name = name
        // 3 is Unix. The header has no modification time because the response is not a file.
        header.pointee.os = 3
        let size = Int32(MemoryLayout<z_stream>.size)
        // Adding 16 selects the gzip format.
        let status = deflateInit2_(
            stream,
            Self.level,
            Z_DEFLATED,
            MAX_WBITS + 16,
            8,
            Z_DEFAULT_STRATEGY,
            ZLIB_VERSION,
            size
        )
        guard status == Z_OK, deflateSetHeader(stream, header) == Z_OK else { return nil }
    }

    deinit {
        // `deflateEnd` has no effect when the initialization failed.
        deflateEnd(stream)
        stream.deallocate()
        header.deallocate()
        name.deallocate()
        activeCount?.count -= 1
    }

    func compress(_ bytes: ByteBuffer) -> ByteBuffer {
        hasPendingOutput = true
        return run(bytes, Z_NO_FLUSH)
    }

    func flush() -> ByteBuffer {
        hasPendingOutput = false
        return run(ByteBuffer(), Z_SYNC_FLUSH)
    }

    func finish() -> ByteBuffer {
        hasPendingOutput = false
        return run(ByteBuffer(), Z_FINISH)
    }

    private func run(_ bytes: ByteBuffer, _ mode: Int32) -> ByteBuffer {
        var result = ByteBuffer()
        bytes.withUnsafeReadableBytes { input in
            // zlib only reads the input, although its type is mutable.
            let start = input.bindMemory(to: Bytef.self).baseAddress
            stream.pointee.next_in = UnsafeMutablePointer(mutating: start)
            stream.pointee.avail_in = uInt(input.count)
            repeat {
                result.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.piece) { output in
                    stream.pointee.next_out = output.bindMemory(to: Bytef.self).baseAddress
                    stream.pointee.avail_out = uInt(output.count)
                    // `deflate` cannot fail here: the state is valid and there is space for output.
                    _ = deflate(stream, mode)
                    return output.count - Int(stream.pointee.avail_out)
                }
            } while stream.pointee.avail_out == 0
            stream.pointee.next_in = nil
        }
        return result
    }
}

extension ByteBuffer {
    func gzipped() -> ByteBuffer? {
        guard let deflater = Deflater() else { return nil }
        var result = deflater.compress(self)
        result.writeImmutableBuffer(deflater.finish())
        return result
    }
}
