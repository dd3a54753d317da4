import ChildProcesses
import Foundation
import Glibc

/// The `.roost` folder of a checkout, which keeps the state between runs.
struct Workspace: Sendable {
    let root: String

    /// An error whose text explains to the operator why a command failed.
    struct Problem: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) {
            self.description = description
        }
    }

    init(root: String) throws {
        guard let real = realpath(root, nil) else {
            throw Problem("there is no folder \(root)")
        }
        defer { free(real) }
        self.root = String(cString: real)
    }

    var folder: String { "\(root)/.roost" }
    var secretsFile: String { "\(folder)/secrets.env" }
    var settingsFile: String { "\(root)/.env" }
    var processesFile: String { "\(folder)/processes.json" }
    var logs: String { "\(folder)/logs" }
    var restartsFile: String { "\(logs)/restarts.log" }
    private var lockFile: String { "\(folder)/lock" }

    /// The folder of the private PostgreSQL.
    ///
    /// PostgreSQL does not run as root, and its user cannot enter a checkout under /root. For root, the data is
    /// therefore in a folder under /var/lib/roost. The folder is named after a hash of the checkout's path, and
    /// `.roost` links to it.
    var postgres: String {
        geteuid() == 0 ? "\(CheckoutData.root)/\(dataName)" : "\(folder)/postgres"
    }

    /// The name of root's data folder for this checkout, as `roost data` shows it.
    var dataName: String { Self.fingerprint(root) }

    func recordCheckout() throws {
        if geteuid() == 0 { try CheckoutData.record(root, in: postgres) }
    }

    /// Creates the folder, readable only by its owner.
    func create() throws {
        let files = FileManager.default
        try files.createDirectory(atPath: logs, withIntermediateDirectories: true)
        chmod(folder, 0o700)
        guard geteuid() == 0 else {
            return
        }
        let link = "\(folder)/postgres"
        // A failure is ignored: the link does not exist yet.
        if (try? files.destinationOfSymbolicLink(atPath: link)) != postgres {
            unlink(link)
            try files.createSymbolicLink(atPath: link, withDestinationPath: postgres)
        }
    }

    /// Locks the checkout for this process until the process exits.
    func lock() throws {
        let descriptor = open(lockFile, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw Problem("cannot write \(lockFile): \(String(cString: strerror(errno)))")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw Problem("roost already runs for this checkout\(holder.map { " (process \($0))" } ?? "")")
        }
        ftruncate(descriptor, 0)
        let note = "\(getpid())\n"
        write(descriptor, note, note.utf8.count)
        // The descriptor stays open, because the lock ends with it.
    }

    /// The process that has locked the checkout, if any.
    var holder: Int32? {
        let descriptor = open(lockFile, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            return nil
        }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_SH | LOCK_NB) != 0 else {
            return nil
        }
        // A failure is ignored: the process may not have written its id yet.
        return (try? String(contentsOfFile: lockFile, encoding: .utf8)).flatMap { Int32($0.dropLast()) }
    }

    /// Returns the FNV-1a hash, 64 bits, which is the same in every run.
    private static func fingerprint(_ text: String) -> String {
        let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16)
    }
}
