/// Writes a ZIP archive as a stream: each method answers with the bytes that come next, and nothing is gone back to.
///
/// ```swift
/// var archive = ZipArchive()
/// send(try archive.begin("notes/today.txt", modified: now))
/// send(try archive.write("Hello".utf8))
/// send(try archive.end())
/// send(try archive.finish())
/// ```
///
/// As PKWARE's APPNOTE 6.3.10 has it: entries are deflated, their sizes follow behind them (4.3.9), names are UTF-8 (4.4.4, bit
/// 11). An entry is at most 4 GiB less one byte, before and after; an archive may have any size and number of entries, for
/// which its directory is in ZIP64 form where it must. An archive that breaks off has no directory, and no program takes it
/// for whole.
public struct ZipArchive: ~Copyable {
    /// How hard the bytes of an entry are pressed.
    public enum Compression: Sendable {
        /// For text, which becomes a tenth.
        case deflated
        /// For what is packed already, as pictures are: costs next to nothing.
        case stored
    }

    /// What an archive cannot be written with.
    public enum Failure: Error, Hashable {
        /// Empty, absolute, leading out of the archive, longer than 1,024 bytes, or there already.
        case unusableName(String)
        /// More than 4 GiB less one byte.
        case entryTooLarge(String)
        /// `begin` within an entry or behind the directory, `write` or `end` without one.
        case wrongState
        /// The deflater gave up, with zlib's code.
        case deflater(Int32)
    }

    static let maximumName = 1_024
    static let maximumSize = UInt64(UInt32.max) - 1

    private var entries: [ZipEntry] = []
    private var names: Set<String> = []
    private var current: ZipEntry?
    private var deflater: Deflater?
    private var isFinished = false
    /// Bytes written so far.
    private var offset: UInt64 = 0

    public init() {}

    /// Begins a file of this name, whose folders are told apart by `/`.
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

    /// What comes out of more of the file's bytes, which may be nothing for now.
    ///
    /// - Throws: ``Failure/entryTooLarge(_:)``, ``Failure/wrongState``, ``Failure/deflater(_:)``; the archive is then good for
    ///   nothing.
    public mutating func write(_ bytes: some Sequence<UInt8>) throws(Failure) -> [UInt8] {
        guard var entry = current, let deflater else { throw .wrongState }
        let bytes = Array(bytes)
        entry.size += UInt64(bytes.count)
        guard entry.size <= Self.maximumSize else {
            throw .entryTooLarge(String(decoding: entry.name, as: UTF8.self))
        }
        entry.checksum = Deflater.checksum(of: bytes, after: entry.checksum)
        let packed = try deflater.take(bytes)
        entry.compressedSize += UInt64(packed.count)
        current = entry
        return count(packed)
    }

    /// Ends the file.
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

    /// The directory, with which the archive is whole.
    ///
    /// - Throws: ``Failure/wrongState`` within an entry, and a second time.
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

    /// Whoever unpacks it finds the file below the folder that he unpacks to, whatever his system is.
    private static func isUsable(_ name: String) -> Bool {
        guard name.utf8.count <= maximumName else { return false }
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        return parts.allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." }
            && !name.unicodeScalars.contains {
                $0.value < 0x20 || $0.value == 0x7F || "\\:".unicodeScalars.contains($0)
            }
    }
}
