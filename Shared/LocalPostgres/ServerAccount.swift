import ChildProcesses
import Foundation
import Glibc

/// The user that a private server runs as.
///
/// PostgreSQL refuses to run as root, so for root it is Debian's `postgres`; everybody else runs it as himself.
struct ServerAccount: Sendable {
    /// The name to change to, or `nil` where nothing is changed.
    let name: String?
    private let user: uid_t
    private let group: gid_t

    init() throws {
        guard geteuid() == 0 else {
            name = nil
            (user, group) = (geteuid(), getegid())
            return
        }
        guard let entry = getpwnam("postgres") else {
            throw LocalPostgresError(
                "PostgreSQL does not run as root and there is no user postgres: install Debian's postgresql, which makes one"
            )
        }
        name = "postgres"
        (user, group) = (entry.pointee.pw_uid, entry.pointee.pw_gid)
    }

    /// Makes a folder that is the account's alone.
    func makeDirectory(_ path: String) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try setOwner(path, mode: 0o700)
    }

    /// Writes a file that the account alone may read.
    func write(_ text: String, to path: String) throws {
        let new = path + ".new"
        let descriptor = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw LocalPostgresError("cannot write \(new): \(String(cString: strerror(errno)))")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try file.write(contentsOf: Data(text.utf8))
        try file.synchronize()
        try setOwner(new, mode: 0o600)
        guard rename(new, path) == 0 else {
            throw LocalPostgresError("cannot write \(path): \(String(cString: strerror(errno)))")
        }
    }

    /// One of the server's programs, as the account, in a folder that it may enter.
    func command(_ executable: String, _ arguments: [String], in directory: String) -> ProcessCommand {
        var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("PG") }
        environment["LC_ALL"] = "C.UTF-8"
        var command = ProcessCommand(executable, arguments, environment: environment, workingDirectory: directory)
        command.ignoresBrokenPipes = false
        return command
    }

    private func setOwner(_ path: String, mode: mode_t) throws {
        guard chown(path, user, group) == 0, chmod(path, mode) == 0 else {
            throw LocalPostgresError("cannot take \(path): \(String(cString: strerror(errno)))")
        }
    }
}
