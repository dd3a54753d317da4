import ChildProcesses
import Foundation
import Glibc

/// The folder `.roost` of a checkout: what a run keeps for the next.
struct Workspace: Sendable {
    /// The checkout.
    let root: String

    /// A command failed in a way that its text explains to a person.
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

    /// Where the private PostgreSQL lives.
    ///
    /// PostgreSQL does not run as root, and the user it runs as then cannot enter a checkout under /root: its data is
    /// under /var/lib/roost, by a name made of the checkout's path, and linked from here.
    var postgres: String {
        geteuid() == 0 ? "\(CheckoutData.root)/\(dataName)" : "\(folder)/postgres"
    }

    /// The name of root's data folder for this checkout, as `roost data` shows it.
    var dataName: String { Self.fingerprint(root) }

    /// Records which checkout uses root's data folder, so that `roost data list` can tell.
    func recordCheckout() throws {
        if geteuid() == 0 { try CheckoutData.record(root, in: postgres) }
    }

    /// Makes the folder, readable to its owner alone.
    func create() throws {
        let files = FileManager.default
        try files.createDirectory(atPath: logs, withIntermediateDirectories: true)
        chmod(folder, 0o700)
        guard geteuid() == 0 else {
            return
        }
        let link = "\(folder)/postgres"
        // Silence: no link yet.
        if (try? files.destinationOfSymbolicLink(atPath: link)) != postgres {
            unlink(link)
            try files.createSymbolicLink(atPath: link, withDestinationPath: postgres)
        }
    }

    /// Holds the checkout for this process until it ends, however it ends.
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
        // The descriptor stays open: the lock is this process's for as long as it lives.
    }

    /// The process that holds the checkout, if one does.
    var holder: Int32? {
        let descriptor = open(lockFile, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            return nil
        }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_SH | LOCK_NB) != 0 else {
            return nil
        }
        // Silence: whoever holds it has not written yet.
        return (try? String(contentsOfFile: lockFile, encoding: .utf8)).flatMap { Int32($0.dropLast()) }
    }

    /// FNV-1a, 64 bits: the same for the same path in every run.
    private static func fingerprint(_ text: String) -> String {
        let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16)
    }
}
