import CZlib

/// A streaming compressor: raw deflate (RFC 1951) by zlib, which holds no more than its window.
final class Deflater {
    // zlib's state points to the stream, which therefore must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    private let outputBuffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 65_536)

    init(level: Int32) throws(ZipArchive.Failure) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // Negative window bits omit zlib's own header and trailer.
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
        // Has no effect if the initialisation failed.
        deflateEnd(stream)
        stream.deallocate()
        outputBuffer.deallocate()
    }

    /// Compresses bytes; the result may be empty, because zlib buffers output.
    func compress(_ bytes: [UInt8]) throws(ZipArchive.Failure) -> [UInt8] { try run(bytes, Z_NO_FLUSH) }

    /// Returns the remaining output.
    func finish() throws(ZipArchive.Failure) -> [UInt8] { try run([], Z_FINISH) }

    /// Continues a CRC-32 with further bytes.
    static func checksum(of bytes: [UInt8], after checksum: UInt32) -> UInt32 {
        UInt32(truncatingIfNeeded: crc32_z(uLong(checksum), bytes, bytes.count))
    }

    private func run(_ bytes: [UInt8], _ flush: Int32) throws(ZipArchive.Failure) -> [UInt8] {
        var output: [UInt8] = []
        let code = bytes.withUnsafeBufferPointer { input -> Int32 in
            // zlib declares the input as mutable but only reads it.
            stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            stream.pointee.avail_in = UInt32(input.count)
            var code = Z_OK
            repeat {
                stream.pointee.next_out = outputBuffer.baseAddress
                stream.pointee.avail_out = UInt32(outputBuffer.count)
                code = deflate(stream, flush)
                let count = outputBuffer.count - Int(stream.pointee.avail_out)
                output.append(contentsOf: UnsafeBufferPointer(rebasing: outputBuffer[..<count]))
                // Unused output space means that all output was produced.
            } while code == Z_OK && (stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0 || flush == Z_FINISH)
            stream.pointee.next_in = nil
            return code
        }
        // Z_BUF_ERROR means that there was neither input nor output, which is not an error here.
        guard code == Z_OK || code == Z_BUF_ERROR || (flush == Z_FINISH && code == Z_STREAM_END) else {
            throw .deflater(code)
        }
        return output
    }
}
