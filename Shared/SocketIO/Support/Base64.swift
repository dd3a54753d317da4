import NIOCore

/// Base64 with the standard alphabet of RFC 4648 and padding.
enum Base64 {
    private static let characters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 0xff, count: 256)
        for (value, character) in characters.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()

    static func encodedLength(_ count: Int) -> Int { (count + 2) / 3 * 4 }

    static func encode(_ bytes: ByteBuffer, into output: inout ByteBuffer) {
        output.writeWithUnsafeMutableBytes(minimumWritableBytes: encodedLength(bytes.readableBytes)) { target in
            bytes.withUnsafeReadableBytes { encode($0, into: target) }
        }
    }

    private static func encode(_ bytes: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) -> Int {
        var end = 0
        var index = 0
        while index < bytes.count {
            let left = bytes.count - index
            let triple =
                UInt32(bytes[index]) << 16 | (left > 1 ? UInt32(bytes[index + 1]) << 8 : 0)
                | (left > 2 ? UInt32(bytes[index + 2]) : 0)
            target[end] = characters[Int(triple >> 18)]
            target[end + 1] = characters[Int(triple >> 12 & 63)]
            target[end + 2] = left > 1 ? characters[Int(triple >> 6 & 63)] : UInt8(ascii: "=")
            target[end + 3] = left > 2 ? characters[Int(triple & 63)] : UInt8(ascii: "=")
            end += 4
            index += 3
        }
        return end
    }

    /// Returns the decoded bytes, or nil if the text is not base64; padding is optional.
    static func decode(_ text: ByteBuffer) -> ByteBuffer? {
        var output = ByteBuffer()
        output.reserveCapacity(text.readableBytes / 4 * 3 + 3)
        var bits: UInt32 = 0
        var bitCount = 0
        var padding = 0
        for byte in text.readableBytesView {
            if byte == UInt8(ascii: "=") {
                padding += 1
                continue
            }
            let value = values[Int(byte)]
            guard value != 0xff, padding == 0 else { return nil }
            bits = bits << 6 | UInt32(value)
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                output.writeInteger(UInt8(truncatingIfNeeded: bits >> bitCount))
            }
        }
        // A single leftover character cannot encode a byte; padding, if present, must complete the last four
        // characters.
        let isWhole = padding == 0 ? text.readableBytes % 4 != 1 : text.readableBytes % 4 == 0 && padding <= 2
        return isWhole ? output : nil
    }
}
