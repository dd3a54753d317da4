/// A file of an archive and its records; sections refer to PKWARE's APPNOTE 6.3.10.
struct ZipEntry {
    var name: [UInt8]
    var modified: ZipTime
    /// The offset of the local header in bytes.
    var offset: UInt64
    var checksum: UInt32 = 0
    var size: UInt64 = 0
    var compressedSize: UInt64 = 0

    init(name: [UInt8], modified: ZipTime, offset: UInt64) {
        self.name = name
        self.modified = modified
        self.offset = offset
    }

    /// Sizes and checksum follow the data (bit 3); the name is UTF-8 (bit 11).
    private static let flags: UInt16 = 1 << 3 | 1 << 11
    private static let deflate: UInt16 = 8
    /// Version 2.0: folders and deflate.
    private static let version: UInt16 = 20
    /// Version 4.5: ZIP64.
    private static let version64: UInt16 = 45
    /// Created on Unix, which makes the permissions below effective.
    private static let madeBy: UInt16 = 3 << 8 | version64
    /// A regular file that only its owner may read and write.
    private static let attributes: UInt32 = 0o100_600 << 16

    /// The local header (section 4.3.7).
    var localHeader: [UInt8] {
        var bytes = Bytes()
        bytes.append(0x0403_4B50 as UInt32)
        bytes.append(Self.version)
        bytes.append(Self.flags)
        bytes.append(Self.deflate)
        bytes.append(modified.time)
        bytes.append(modified.date)
        for _ in 0..<3 { bytes.append(0 as UInt32) }
        bytes.append(UInt16(name.count))
        bytes.append(0 as UInt16)
        return bytes.all + name
    }

    /// The data descriptor (section 4.3.9).
    var descriptor: [UInt8] {
        var bytes = Bytes()
        bytes.append(0x0807_4B50 as UInt32)
        bytes.append(checksum)
        bytes.append(UInt32(compressedSize))
        bytes.append(UInt32(size))
        return bytes.all
    }

    /// The directory header (section 4.3.12); an offset beyond 32 bits is in an extra field (section 4.5.3).
    var directoryHeader: [UInt8] {
        let isLarge = offset >= UInt64(UInt32.max)
        var bytes = Bytes()
        bytes.append(0x0201_4B50 as UInt32)
        bytes.append(Self.madeBy)
        bytes.append(isLarge ? Self.version64 : Self.version)
        bytes.append(Self.flags)
        bytes.append(Self.deflate)
        bytes.append(modified.time)
        bytes.append(modified.date)
        bytes.append(checksum)
        bytes.append(UInt32(compressedSize))
        bytes.append(UInt32(size))
        bytes.append(UInt16(name.count))
        bytes.append(isLarge ? 12 : 0 as UInt16)
        // No comment, first disk, no internal attributes.
        for _ in 0..<3 { bytes.append(0 as UInt16) }
        bytes.append(Self.attributes)
        bytes.append(isLarge ? UInt32.max : UInt32(offset))
        var extra = Bytes()
        if isLarge {
            extra.append(1 as UInt16)
            extra.append(8 as UInt16)
            extra.append(offset)
        }
        return bytes.all + name + extra.all
    }

    /// The end of the directory (section 4.3.16), preceded by the ZIP64 records (4.3.14 and 4.3.15) if a number needs
    /// them.
    static func directoryEnd(count: UInt64, size: UInt64, offset: UInt64) -> [UInt8] {
        let isLarge = count >= UInt64(UInt16.max) || size >= UInt64(UInt32.max) || offset >= UInt64(UInt32.max)
        var bytes = Bytes()
        if isLarge {
            bytes.append(0x0606_4B50 as UInt32)
            bytes.append(44 as UInt64)
            bytes.append(madeBy)
            bytes.append(version64)
            for _ in 0..<2 { bytes.append(0 as UInt32) }
            for _ in 0..<2 { bytes.append(count) }
            bytes.append(size)
            bytes.append(offset)
            bytes.append(0x0706_4B50 as UInt32)
            bytes.append(0 as UInt32)
            bytes.append(offset + size)
            bytes.append(1 as UInt32)
        }
        bytes.append(0x0605_4B50 as UInt32)
        for _ in 0..<2 { bytes.append(0 as UInt16) }
        for _ in 0..<2 { bytes.append(isLarge ? UInt16.max : UInt16(count)) }
        bytes.append(isLarge ? UInt32.max : UInt32(size))
        bytes.append(isLarge ? UInt32.max : UInt32(offset))
        bytes.append(0 as UInt16)
        return bytes.all
    }

    /// Little-endian numbers (section 4.4.1).
    private struct Bytes {
        var all: [UInt8] = []

        mutating func append(_ number: some FixedWidthInteger) {
            withUnsafeBytes(of: number.littleEndian) { all += $0 }
        }
    }
}
