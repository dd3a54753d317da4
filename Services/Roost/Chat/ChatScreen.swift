import Glibc

/// The terminal, or what stands in for it; nothing is held back.
enum ChatScreen {
    /// A line of the conversation.
    static func show(_ line: String) { write(line, to: STDOUT_FILENO) }

    /// A word of the program's own.
    static func showStatus(_ line: String) { write("* \(line)", to: STDERR_FILENO) }

    private static func write(_ line: String, to descriptor: Int32) {
        let bytes = Array("\(line)\n".utf8)
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            // Where nobody reads any more, nothing is to be shown.
            guard count > 0 || errno == EINTR else { return }
            written += max(0, count)
        }
    }
}
