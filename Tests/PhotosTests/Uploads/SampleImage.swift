import Foundation

/// Makes small valid images.
enum SampleImage {
    /// Returns a PNG (W3C, third edition) of one colour, which `seed` selects.
    static func png(_ width: Int = 40, _ height: Int = 30, seed: UInt8 = 0) -> [UInt8] {
        let row: [UInt8] = [0] + (0..<width).flatMap { _ in [seed, seed &* 31, 255 &- seed] }
        let pixels = [[UInt8]](repeating: row, count: height).flatMap { $0 }
        var bytes: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        bytes += chunk("IHDR", big(UInt32(width)) + big(UInt32(height)) + [8, 2, 0, 0, 0])
        bytes += chunk("IDAT", stored(pixels))
        bytes += chunk("IEND", [])
        return bytes
    }

    private static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
        let named = Array(name.utf8) + content
        return big(UInt32(content.count)) + named + big(checksum(named))
    }

    /// Returns the bytes in zlib format (RFC 1950), uncompressed.
    private static func stored(_ bytes: [UInt8]) -> [UInt8] {
        var stored: [UInt8] = [0x78, 0x01]
        var start = 0
        repeat {
            let end = min(start + 65_535, bytes.count)
            let size = UInt16(end - start)
            stored += [end == bytes.count ? 1 : 0, UInt8(size & 255), UInt8(size >> 8)]
            stored += [UInt8(~size & 255), UInt8(~size >> 8)] + bytes[start..<end]
            start = end
        } while start < bytes.count
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in bytes {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        return stored + big(high << 16 | low)
    }

    /// Returns the CRC-32 of PNG, annex D.
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(~0 as UInt32) { sum, byte in table[Int((sum ^ UInt32(byte)) & 255)] ^ (sum >> 8) }
    }

    private static let table = (0..<256 as Range<UInt32>).map { number in
        (0..<8).reduce(number) { sum, _ in sum & 1 == 1 ? 0xEDB8_8320 ^ (sum >> 1) : sum >> 1 }
    }

    private static func big(_ number: UInt32) -> [UInt8] { (0..<4).map { UInt8(number >> (24 - 8 * $0) & 255) } }
}
