import CZlib
import NIOCore

/// How many answers are being compressed on one event loop.
final class DeflaterCounter {
    fileprivate(set) var count = 0
}

/// One body on its way through gzip, of which no more than a few kilobytes are held at a time.
///
/// Its header has a name of random length (RFC 1952): whoever sees only how long an answer is learns less of what
/// compressed well in it ("Heal the BREACH", Palacios 2022).
final class Deflater {
    /// Quick more than thorough: the gain of higher levels is small beside what they cost an event loop.
    private static let level: Int32 = 4
    private static let longestName = 64
    private static let piece = 8 * 1_024

    // zlib's state points back at the stream, so it must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    private let header: UnsafeMutablePointer<gz_header>
    private let name: UnsafeMutablePointer<Bytef>
    private let activeCount: DeflaterCounter?
    /// Whether something was taken that has not come out yet.
    private(set) var hasPendingOutput = false

    /// - Returns: nil where there is no memory for it.
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
        // Unix, and no time: what was compressed is no file.
        header.pointee.os = 3
        let size = Int32(MemoryLayout<z_stream>.size)
        // 16 asks for gzip around it.
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
        // Without a state it does nothing.
        deflateEnd(stream)
        stream.deallocate()
        header.deallocate()
        name.deallocate()
        activeCount?.count -= 1
    }

    /// What comes out of `bytes`, which may be nothing for now.
    func compress(_ bytes: ByteBuffer) -> ByteBuffer {
        hasPendingOutput = true
        return run(bytes, Z_NO_FLUSH)
    }

    /// What was held back.
    func flush() -> ByteBuffer {
        hasPendingOutput = false
        return run(ByteBuffer(), Z_SYNC_FLUSH)
    }

    /// The end of the body.
    func finish() -> ByteBuffer {
        hasPendingOutput = false
        return run(ByteBuffer(), Z_FINISH)
    }

    private func run(_ bytes: ByteBuffer, _ mode: Int32) -> ByteBuffer {
        var result = ByteBuffer()
        bytes.withUnsafeReadableBytes { input in
            // zlib reads it only, whatever its type says.
            let start = input.bindMemory(to: Bytef.self).baseAddress
            stream.pointee.next_in = UnsafeMutablePointer(mutating: start)
            stream.pointee.avail_in = uInt(input.count)
            repeat {
                result.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.piece) { output in
                    stream.pointee.next_out = output.bindMemory(to: Bytef.self).baseAddress
                    stream.pointee.avail_out = uInt(output.count)
                    // It cannot fail: the state is sound, and there is room.
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
    /// All of it through gzip.
    func gzipped() -> ByteBuffer? {
        guard let deflater = Deflater() else { return nil }
        var result = deflater.compress(self)
        result.writeImmutableBuffer(deflater.finish())
        return result
    }
}
