import Foundation
import Glibc

/// The identity of a process: its id and its start time.
///
/// Linux reuses process ids. The start time distinguishes two processes with the same id, so a signal to a recorded
/// process never reaches another one.
///
/// Source: `proc(5)`, `/proc/<pid>/stat`, field 22, in clock ticks since boot.
package struct ProcessIdentity: Codable, Hashable, Sendable {
    package let pid: Int32
    package let startTime: UInt64

    /// Creates an identity that an earlier run has recorded.
    package init(pid: Int32, startTime: UInt64) {
        self.pid = pid
        self.startTime = startTime
    }

    /// Finds the process with this id; returns nil if there is none or it is a zombie.
    package init?(pid: Int32) {
        guard pid > 0, let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            // The second field is the command in parentheses, which may contain spaces and parentheses.
            let end = stat.lastIndex(of: ")")
        else {
            return nil
        }
        let fields = stat[stat.index(after: end)...].split(separator: " ")
        guard fields.count > 19, fields[0] != "Z", fields[0] != "X", let startTime = UInt64(fields[19]) else {
            return nil
        }
        self.pid = pid
        self.startTime = startTime
    }

    /// The current process.
    package static var current: ProcessIdentity? { ProcessIdentity(pid: getpid()) }

    package var isAlive: Bool { ProcessIdentity(pid: pid) == self }

    /// The command line for display; empty if it is not visible.
    package var commandLine: String {
        // A process that has just ended has no command line.
        let raw = (try? Data(contentsOf: URL(filePath: "/proc/\(pid)/cmdline"))) ?? Data()
        return raw.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
    }

    /// The working directory; nil if it is not visible.
    package var workingDirectory: String? {
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/cwd")
    }

    /// Sends a signal if the process is still the same one.
    package func signal(_ number: Int32) {
        if isAlive {
            kill(pid, number)
        }
    }

    /// Waits until the process has ended; returns whether it has.
    ///
    /// The system sends no notification for processes that are not children of this one, so the process is polled 50
    /// times a second.
    ///
    /// - Parameter limit: the time limit.
    /// - Returns: whether the process has ended.
    package func hasEnded(within limit: Duration) async -> Bool {
        let deadline = ContinuousClock.now + limit
        while isAlive {
            guard ContinuousClock.now < deadline, (try? await Task.sleep(for: .milliseconds(20))) != nil else {
                return !isAlive
            }
        }
        return true
    }
}
