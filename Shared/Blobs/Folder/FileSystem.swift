import Glibc

/// What is done with folders and names; each call blocks.
enum FileSystem {
    /// False: it was there.
    static func makeFolder(_ path: String) throws -> Bool {
        if mkdir(path, 0o700) == 0 { return true }
        guard errno == EEXIST else { throw BlobError(failing: "make a folder", errno) }
        return false
    }

    /// Brings the names in a folder to disk.
    static func synchronize(folder path: String) throws {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw BlobError(failing: "open a folder", errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw BlobError(failing: "bring a folder to disk", errno) }
    }

    /// False: it was not there.
    static func remove(_ path: String) throws -> Bool {
        if unlink(path) == 0 { return true }
        guard errno == ENOENT else { throw BlobError(failing: "remove a file", errno) }
        return false
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
    /// What the system's error comes to.
    init(failing operation: String, _ code: Int32) {
        self = [ENOSPC, EDQUOT].contains(code) ? .noSpace : .failed(operation, code: code)
    }
}
