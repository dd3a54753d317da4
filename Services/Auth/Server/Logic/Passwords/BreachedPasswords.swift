import Crypto
import Foundation
import Locks
import ServiceHost

/// A file of breached passwords: one upper-case SHA-1 in hex per line, sorted.
///
/// This is the format of the list of Have I Been Pwned; text after a colon is ignored. The file may have any size: a
/// binary search on disk needs about 40 reads per password.
final class BreachedPasswords: Sendable {
    /// The longest line: a hash and the text after it.
    private static let maximumLine = 128
    private static let hashLength = 40

    private struct Failure: Error, CustomStringConvertible {
        let description = "the list of breached passwords is malformed"
    }

    /// The file offset is shared, so only one thread reads at a time.
    private let file: Lock<FileHandle>
    private let size: UInt64

    /// - Throws: `SettingError` if the file cannot be read, or its first line has another format.
    init(path: String) throws {
        guard let handle = FileHandle(forReadingAtPath: path), let size = try? handle.seekToEnd() else {
            throw SettingError("BREACHED_PASSWORDS_FILE", "names the file \(path), which cannot be read")
        }
        file = Lock(handle)
        self.size = size
        let first = try Self.line(at: 0, of: handle)
        guard let hash = first?.hash, hash.count == Self.hashLength,
            hash.allSatisfy({ $0.isHexDigit && !$0.isLowercase })
        else {
            throw SettingError(
                "BREACHED_PASSWORDS_FILE",
                "names a file that is not sorted SHA-1 hashes in upper-case hex"
            )
        }
    }

    /// Returns whether the list contains the password; blocks while it reads the file.
    func contains(_ password: String) throws -> Bool {
        let hash = Insecure.SHA1.hash(data: Data(password.utf8)).map { String(format: "%02X", $0) }.joined()
        return try file.withLock { file in
            // Invariant: the first line that is not less than the hash begins in low ..< high, if it exists.
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

    /// Returns the hash of the first line that begins at or after the offset, and the offset of the next line.
    private static func line(at offset: UInt64, of file: FileHandle) throws -> (hash: String, end: UInt64)? {
        // Reading starts one byte earlier, because a line begins after a line break.
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
