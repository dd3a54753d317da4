/// A streaming writer of ZIP archives: each method returns the next bytes of the output, which is never revised.
///
/// ```swift
/// var archive = ZipArchive()
/// send(try archive.begin("notes/today.txt", modified: ZipTime(secondsSince1970: 1_800_000_000)))
/// send(try archive.write("Hello".utf8))
/// send(try archive.end())
/// send(try archive.finish())
/// ```
///
/// The format is PKWARE's APPNOTE 6.3.10: entries are deflated, sizes follow the data (4.3.9), names are UTF-8 (4.4.4,
/// bit 11). An entry may have up to 4 GiB less two bytes, before and after compression. The size of an archive and the
/// number of entries are unlimited; the directory is in ZIP64 form if needed. An archive that ends early has no
/// directory, so programs reject it.
public struct ZipArchive: ~Copyable {
    /// The compression of an entry.
    public enum Compression: Sendable {
        /// Deflate, for text and other compressible data.
        case deflated
        /// No compression, for compressed formats such as pictures; takes almost no time.
        case stored
    }

    /// The error of writing an archive.
    public enum Failure: Error, Hashable {
        /// The name is empty, absolute, leads out of the archive, has more than 1,024 bytes, or is already used.
        case unusableName(String)
        /// The entry has 4 GiB less one byte, or more.
        case entryTooLarge(String)
        /// `begin` was called within an entry or after `finish`, or `write` or `end` outside an entry.
        case wrongState
        /// zlib failed with this code.
        case deflater(Int32)
    }

    static let maximumName = 1_024
    static let maximumSize = UInt64(UInt32.max) - 1

    private var entries: [ZipEntry] = []
    private var names: Set<String> = []
    private var current: ZipEntry?
    private var deflater: Deflater?
    private var isFinished = false
    /// The number of bytes written so far.
    private var offset: UInt64 = 0

    /// Creates an empty archive.
    public init() {}

    /// Begins a file.
    ///
    /// - Parameters:
    ///   - name: The path in the archive, with `/` between folders; at most 1,024 bytes.
    ///   - modified: The time of the last change.
    ///   - packing: The compression of the content.
    /// - Returns: The next bytes of the archive.
    ///
    /// - Throws: ``Failure/unusableName(_:)``, ``Failure/wrongState``, ``Failure/deflater(_:)``.
    public mutating func begin(
        _ name: String,
        modified: ZipTime,
        packing: Compression = .deflated
    ) throws(Failure) -> [UInt8] {
        guard current == nil, !isFinished else { throw .wrongState }
        guard Self.isUsable(name), names.insert(name).inserted else { throw .unusableName(name) }
        let entry = ZipEntry(name: Array(name.utf8), modified: modified, offset: offset)
        deflater = try Deflater(level: packing == .deflated ? 6 : 0)
        current = entry
        return count(entry.localHeader)
    }

    /// Writes the next bytes of the file; the returned output may be empty, because zlib buffers it.
    ///
    /// - Throws: ``Failure/entryTooLarge(_:)``, ``Failure/wrongState``, ``Failure/deflater(_:)``; the archive is then
    ///   invalid.
    public mutating func write(_ bytes: some Sequence<UInt8>) throws(Failure) -> [UInt8] {
        guard var entry = current, let deflater else { throw .wrongState }
        let bytes = Array(bytes)
        entry.size += UInt64(bytes.count)
        guard entry.size <= Self.maximumSize else {
            throw .entryTooLarge(String(decoding: entry.name, as: UTF8.self))
        }
        entry.checksum = Deflater.checksum(of: bytes, after: entry.checksum)
        let packed = try deflater.compress(bytes)
        entry.compressedSize += UInt64(packed.count)
        current = entry
        return count(packed)
    }

    /// Ends the file; returns its remaining output.
    ///
    /// - Throws: ``Failure/entryTooLarge(_:)``, ``Failure/wrongState``, ``Failure/deflater(_:)``.
    public mutating func end() throws(Failure) -> [UInt8] {
        guard var entry = current, let deflater else { throw .wrongState }
        let rest = try deflater.finish()
        entry.compressedSize += UInt64(rest.count)
        guard entry.compressedSize <= Self.maximumSize else {
            throw .entryTooLarge(String(decoding: entry.name, as: UTF8.self))
        }
        entries.append(entry)
        current = nil
        self.deflater = nil
        return count(rest + entry.descriptor)
    }

    /// Returns the directory, which completes the archive.
    ///
    /// - Throws: ``Failure/wrongState`` within an entry or on a second call.
    public mutating func finish() throws(Failure) -> [UInt8] {
        guard current == nil, !isFinished else { throw .wrongState }
        isFinished = true
        let directory = entries.flatMap(\.directoryHeader)
        return directory
            + ZipEntry.directoryEnd(
                count: UInt64(entries.count),
                size: UInt64(directory.count),
                offset: offset
            )
    }

    private mutating func count(_ bytes: [UInt8]) -> [UInt8] {
        offset += UInt64(bytes.count)
        return bytes
    }

    /// Accepts names that stay below the target folder when unpacked on any system.
    private static func isUsable(_ name: String) -> Bool {
        guard name.utf8.count <= maximumName else { return false }
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        return parts.allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." }
            && !name.unicodeScalars.contains {
                $0.value < 0x20 || $0.value == 0x7F || "\\:".unicodeScalars.contains($0)
            }
    }
}
