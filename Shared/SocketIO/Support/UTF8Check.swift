import NIOCore

/// Validation of UTF-8 (Unicode 3.9, table 3-7).
enum UTF8Check {
    static func isWellFormed(_ buffer: ByteBuffer) -> Bool {
        buffer.withUnsafeReadableBytes(isWellFormed)
    }

    static func isWellFormed(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        let end = bytes.count
        while index < end {
            // Checks eight bytes of ASCII at a time, since most text is ASCII.
            while index + 8 <= end {
                let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                if word & 0x8080_8080_8080_8080 != 0 { break }
                index += 8
            }
            guard index < end else { break }
            let length = sequenceLength(bytes, index)
            if length == 0 { return false }
            index += length
        }
        return true
    }

    /// Returns the length of the sequence at the index in bytes; 0 if it is invalid.
    private static func sequenceLength(_ bytes: UnsafeRawBufferPointer, _ index: Int) -> Int {
        let first = bytes[index]
        if first < 0x80 { return 1 }
        let (length, second): (Int, ClosedRange<UInt8>)
        switch first {
        case 0xc2...0xdf: (length, second) = (2, 0x80...0xbf)
        case 0xe0: (length, second) = (3, 0xa0...0xbf)
        case 0xed: (length, second) = (3, 0x80...0x9f)
        case 0xe1...0xef: (length, second) = (3, 0x80...0xbf)
        case 0xf0: (length, second) = (4, 0x90...0xbf)
        case 0xf1...0xf3: (length, second) = (4, 0x80...0xbf)
        case 0xf4: (length, second) = (4, 0x80...0x8f)
        default: return 0
        }
        guard index + length <= bytes.count, second.contains(bytes[index + 1]) else { return 0 }
        for offset in 2..<max(2, length) where bytes[index + offset] & 0xc0 != 0x80 { return 0 }
        return length
    }
}
