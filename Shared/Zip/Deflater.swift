import CZlib

/// Presses bytes as they come, by zlib: raw deflate (RFC 1951), of which no more than its window is held.
final class Deflater {
    // zlib's state points back at the stream, so it must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    private let room = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 65_536)

    init(level: Int32) throws(ZipArchive.Failure) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // Negative: neither header nor trailer of zlib's own.
        let code = deflateInit2_(
            stream,
            level,
            Z_DEFLATED,
            -MAX_WBITS,
            8,
            Z_DEFAULT_STRATEGY,
            ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size)
        )
        guard code == Z_OK else { throw .deflater(code) }
    }

    deinit {
        // Without a state it does nothing.
        deflateEnd(stream)
        stream.deallocate()
        room.deallocate()
    }

    /// What comes out of `bytes`, which may be nothing for now.
    func take(_ bytes: [UInt8]) throws(ZipArchive.Failure) -> [UInt8] { try run(bytes, Z_NO_FLUSH) }

    /// What was held back, and the end.
    func finish() throws(ZipArchive.Failure) -> [UInt8] { try run([], Z_FINISH) }

    /// CRC-32, going on from that of the bytes before.
    static func checksum(of bytes: [UInt8], after checksum: UInt32) -> UInt32 {
        UInt32(truncatingIfNeeded: crc32_z(uLong(checksum), bytes, bytes.count))
    }

    private func run(_ bytes: [UInt8], _ flush: Int32) throws(ZipArchive.Failure) -> [UInt8] {
        var output: [UInt8] = []
        let code = bytes.withUnsafeBufferPointer { input -> Int32 in
            // It is read alone, whatever its type says.
            stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            stream.pointee.avail_in = UInt32(input.count)
            var code = Z_OK
            repeat {
                stream.pointee.next_out = room.baseAddress
                stream.pointee.avail_out = UInt32(room.count)
                code = deflate(stream, flush)
                let made = room.count - Int(stream.pointee.avail_out)
                output.append(contentsOf: UnsafeBufferPointer(rebasing: room[..<made]))
                // Room that was left says that there is nothing more to come.
            } while code == Z_OK && (stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0 || flush == Z_FINISH)
            stream.pointee.next_in = nil
            return code
        }
        // Nothing in and nothing out is no mistake of anybody's.
        guard code == Z_OK || code == Z_BUF_ERROR || (flush == Z_FINISH && code == Z_STREAM_END) else {
            throw .deflater(code)
        }
        return output
    }
}
