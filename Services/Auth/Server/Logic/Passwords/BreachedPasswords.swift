import Crypto
import Foundation
import Locks
import ServiceHost

/// A list of passwords that others know already, in a file: the SHA-1 of each in hex, a line each, sorted.
///
/// That is the form in which Have I Been Pwned gives its list away; what stands behind a colon counts for nothing. The
/// file may be of any size: it is searched by halves where it lies, some forty reads for each password.
final class BreachedPasswords: Sendable {
    /// A hash, and room for what stands behind it.
    private static let maximumLine = 128
    private static let hashLength = 40

    private struct Failure: Error, CustomStringConvertible {
        let description = "the list of breached passwords cannot be read"
    }

    /// Read from by one thread at a time: its place is shared.
    private let file: Lock<FileHandle>
    private let size: UInt64

    /// - Throws: `SettingError` where it cannot be read, or its first line is none of these.
    init(path: String) throws {
        guard let handle = FileHandle(forReadingAtPath: path), let size = try? handle.seekToEnd() else {
            throw SettingError("BREACHED_PASSWORDS", "names the file \(path), which cannot be read")
        }
        file = Lock(handle)
        self.size = size
        let first = try Self.line(at: 0, of: handle)
        guard let hash = first?.hash, hash.count == Self.hashLength,
            hash.allSatisfy({ $0.isHexDigit && !$0.isLowercase })
        else {
            throw SettingError("BREACHED_PASSWORDS", "names a file whose lines are not SHA-1 in capital hex, sorted")
        }
    }

    /// Whether a password is in the list; reads the file, and so blocks.
    func contains(_ password: String) throws -> Bool {
        let hash = Insecure.SHA1.hash(data: Data(password.utf8)).map { String(format: "%02X", $0) }.joined()
        return try file.withLock { file in
            // The first line that is not before it begins in low ..< high, if there is any.
            var (low, high) = (UInt64(0), size)
            while low < high {
                let middle = low + (high - low) / 2
                guard let line = try Self.line(at: middle, of: file) else {
                    high = middle
                    continue
                }
                if line.hash == hash { return true }
                if line.hash < hash { low = line.end } else { high = middle }
            }
            return false
        }
    }

    /// The first line that begins at or behind a place: its hash, and where the next one begins.
    private static func line(at offset: UInt64, of file: FileHandle) throws -> (hash: String, end: UInt64)? {
        // A line begins where the byte before it ends one.
        let start = offset == 0 ? 0 : offset - 1
        try file.seek(toOffset: start)
        guard let bytes = try file.read(upToCount: 2 * maximumLine), !bytes.isEmpty else { return nil }
        var rest = bytes[...]
        if offset > 0 {
            guard let before = rest.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
            rest = rest[(before + 1)...]
        }
        guard !rest.isEmpty else { return nil }
        let end = rest.firstIndex(of: UInt8(ascii: "\n"))
        let length = (end ?? rest.endIndex) - bytes.startIndex
        guard end != nil || bytes.count < 2 * maximumLine else { throw Failure() }
        return (String(decoding: rest.prefix(hashLength), as: UTF8.self), start + UInt64(length) + 1)
    }
}
