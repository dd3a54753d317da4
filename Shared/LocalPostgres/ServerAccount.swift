import ChildProcesses
import Foundation
import Glibc

/// The user account of a private server.
///
/// PostgreSQL refuses to run as root, so root uses Debian's user `postgres`; all other users run the server themselves.
struct ServerAccount: Sendable {
    /// The account to switch to; nil keeps the current one.
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
                "PostgreSQL does not run as root and there is no user postgres; install the package postgresql"
            )
        }
        name = "postgres"
        (user, group) = (entry.pointee.pw_uid, entry.pointee.pw_gid)
    }

    /// Creates a folder that only the account can access.
    func makeDirectory(_ path: String) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try setOwner(path, mode: 0o700)
    }

    /// Writes a file that only the account can read.
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

    /// Returns a command of the server's programs, in a folder that the account can enter.
    func command(_ executable: String, _ arguments: [String], in directory: String) -> ProcessCommand {
        var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("PG") }
        environment["LC_ALL"] = "C.UTF-8"
        var command = ProcessCommand(executable, arguments, environment: environment, workingDirectory: directory)
        command.ignoresBrokenPipes = false
        return command
    }

    private func setOwner(_ path: String, mode: mode_t) throws {
        guard chown(path, user, group) == 0, chmod(path, mode) == 0 else {
            throw LocalPostgresError("cannot change the owner of \(path): \(String(cString: strerror(errno)))")
        }
    }
}
