import Foundation
import Glibc

/// A process that cannot be taken for another: its id and the moment it started.
///
/// Linux hands the id of a dead process to a new one; the start time (`proc(5)`, `/proc/<pid>/stat`, field 22, in clock
/// ticks since boot) tells the two apart, so that a note of an earlier run never leads to a stranger being signalled.
package struct ProcessIdentity: Codable, Hashable, Sendable {
    package let pid: Int32
    package let startTime: UInt64

    /// What an earlier run has noted.
    package init(pid: Int32, startTime: UInt64) {
        self.pid = pid
        self.startTime = startTime
    }

    /// The process that has this id now, or `nil` where none has or where it is dead and only waits to be reaped.
    package init?(pid: Int32) {
        guard pid > 0, let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            // The second field is the command in parentheses and may itself hold spaces and parentheses.
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

    /// The process that asks.
    package static var current: ProcessIdentity? { ProcessIdentity(pid: getpid()) }

    package var isAlive: Bool { ProcessIdentity(pid: pid) == self }

    /// The command line, for a person to read; empty where it may not be seen.
    package var commandLine: String {
        // Silence: a process that has just ended has no command line to show.
        let raw = (try? Data(contentsOf: URL(filePath: "/proc/\(pid)/cmdline"))) ?? Data()
        return raw.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
    }

    /// The working directory, or `nil` where it may not be seen.
    package var workingDirectory: String? {
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/cwd")
    }

    /// Sends a signal, if the process still is the one meant.
    package func signal(_ number: Int32) {
        if isAlive {
            kill(pid, number)
        }
    }

    /// Waits until the process is gone and says whether it is.
    ///
    /// For processes that are not children of this one, of which the system brings no news: it is looked at
    /// 50 times a second.
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
