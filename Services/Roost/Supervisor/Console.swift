import Foundation
import Glibc
import Locks

/// The terminal output: `roost`'s own lines, and each process's lines after the process's name.
final class Console: Sendable {
    private let lines = Lock(())

    func report(_ text: String) {
        write(Array("\(text)\n".utf8))
    }

    /// Returns a receiver of one process's output, which writes to a log file and to the terminal.
    ///
    /// Lines longer than 64 kB are split.
    func output(of name: String, log path: String, width: Int) -> @Sendable ([UInt8]) -> Void {
        let prefix = Array((name.padding(toLength: width, withPad: " ", startingAt: 0) + " | ").utf8)
        let log = LogFile(path: path)
        let rest = Lock<[UInt8]>([])
        return { chunk in
            let ready = rest.withLock { rest -> [UInt8] in
                guard !chunk.isEmpty else {
                    defer { rest = [] }
                    return rest.isEmpty ? [] : rest + [10]
                }
                rest += chunk
                guard let end = rest.lastIndex(of: 10) else {
                    guard rest.count > 65_536 else {
                        return []
                    }
                    defer { rest = [] }
                    return rest + [10]
                }
                defer { rest.removeFirst(end + 1) }
                return Array(rest[...end])
            }
            guard !ready.isEmpty else {
                return
            }
            log.append(ready)
            var marked: [UInt8] = []
            for line in ready.dropLast().split(separator: 10, omittingEmptySubsequences: false) {
                marked += prefix
                marked += line
                marked.append(10)
            }
            self.write(marked)
        }
    }

    private func write(_ bytes: [UInt8]) {
        lines.withLock { _ in
            var written = 0
            while written < bytes.count {
                let count = bytes[written...].withUnsafeBytes { Glibc.write(1, $0.baseAddress, $0.count) }
                guard count > 0 || errno == EINTR else {
                    // The terminal is closed; the log files contain everything.
                    return
                }
                written += max(0, count)
            }
        }
    }
}

/// A log file of bounded size: above the limit, 16 MB, it is renamed to `<path>.1` and a new file starts.
final class LogFile: Sendable {
    private let path: String
    private let limit: Int
    private let state = Lock<(descriptor: Int32, size: Int)>((-1, 0))

    init(path: String, limit: Int = 16 << 20) {
        self.path = path
        self.limit = limit
    }

    deinit {
        state.withLock { state in
            if state.descriptor >= 0 {
                close(state.descriptor)
            }
        }
    }

    func append(_ bytes: [UInt8]) {
        state.withLock { state in
            if state.descriptor >= 0, state.size > limit {
                close(state.descriptor)
                rename(path, path + ".1")
                state.descriptor = -1
            }
            if state.descriptor < 0 {
                state.descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
                state.size = Int(lseek(state.descriptor, 0, SEEK_END))
            }
            // A full disk must not stop a service: the line is missing here but appears on the terminal.
            state.size += max(0, Glibc.write(state.descriptor, bytes, bytes.count))
        }
    }
}
