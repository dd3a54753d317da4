import Glibc

/// The terminal, or the pipes in its place; output is not buffered.
enum ChatScreen {
    static func show(_ line: String) { write(line, to: STDOUT_FILENO) }

    static func showStatus(_ line: String) { write("* \(line)", to: STDERR_FILENO) }

    private static func write(_ line: String, to descriptor: Int32) {
        let bytes = Array("\(line)\n".utf8)
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            // The reader has closed the pipe.
            guard count > 0 || errno == EINTR else { return }
            written += max(0, count)
        }
    }
}
