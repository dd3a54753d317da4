import Glibc
import NIOCore

/// Blocking calls on folders and file names.
enum FileSystem {
    /// Creates a folder; returns false if it exists.
    static func makeFolder(_ path: String) throws -> Bool {
        if mkdir(path, 0o700) == 0 { return true }
        guard errno == EEXIST else { throw BlobError(failing: "create a folder", errno) }
        return false
    }

    /// Opens a file for reading; returns nil if it does not exist.
    static func open(reading path: String) throws -> CInt? {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        if descriptor >= 0 { return descriptor }
        guard errno == ENOENT else { throw BlobError(failing: "open a file", errno) }
        return nil
    }

    /// Flushes the directory entries of a folder to disk.
    static func synchronize(folder path: String) throws {
        let descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw BlobError(failing: "open a folder", errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw BlobError(failing: "flush a folder to disk", errno) }
    }

    /// Removes a file; returns false if it does not exist.
    static func remove(_ path: String) throws -> Bool {
        if unlink(path) == 0 { return true }
        guard errno == ENOENT else { throw BlobError(failing: "remove a file", errno) }
        return false
    }

    /// Writes all bytes after the previous write.
    static func write(_ bytes: ByteBuffer, to descriptor: Int32) throws {
        try bytes.withUnsafeReadableBytes { bytes in
            var rest = bytes
            while let start = rest.baseAddress, !rest.isEmpty {
                let count = Glibc.write(descriptor, start, rest.count)
                if count < 0 {
                    guard errno == EINTR else { throw BlobError(failing: "write a file", errno) }
                    continue
                }
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
    }

    /// Reads at least one byte and at most `count`.
    static func read(_ count: Int, of descriptor: Int32, at position: Int64) throws -> ByteBuffer {
        var buffer = ByteBufferAllocator().buffer(capacity: count)
        try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { bytes in
            while true {
                let length = pread(descriptor, bytes.baseAddress, count, off_t(position))
                if length > 0 { return length }
                guard length < 0, errno == EINTR else {
                    throw BlobError(failing: "read a file", length == 0 ? EIO : errno)
                }
            }
        }
        return buffer
    }

    static func names(in path: String) -> [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}

extension BlobError {
    /// Creates an error from a system error number.
    init(failing operation: String, _ code: Int32) {
        self = [ENOSPC, EDQUOT].contains(code) ? .noSpace : .failed(operation, code: code)
    }
}
