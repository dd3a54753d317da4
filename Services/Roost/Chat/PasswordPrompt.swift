import ArgumentParser
import Foundation
import Glibc

/// Reads a password from ROOST_PASSWORD, or from a prompt at the terminal that does not echo.
enum PasswordPrompt {
    static func password(of username: String) throws -> String {
        if let password = ProcessInfo.processInfo.environment["ROOST_PASSWORD"], !password.isEmpty { return password }
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else {
            throw Workspace.Problem("there is no terminal for a password prompt; set ROOST_PASSWORD")
        }
        defer { close(terminal) }
        var saved = termios()
        tcgetattr(terminal, &saved)
        var withoutEcho = saved
        // Ctrl-C arrives as a byte instead of a signal, so the terminal settings are always restored.
        withoutEcho.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        tcsetattr(terminal, TCSAFLUSH, &withoutEcho)
        defer {
            tcsetattr(terminal, TCSAFLUSH, &saved)
            display("\n", at: terminal)
        }
        display("Password of \(PlainText.of(username)): ", at: terminal)
        return try line(at: terminal)
    }

    private static func line(at terminal: Int32) throws -> String {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(terminal, &byte, 1) == 1, line.count < 1_024 {
            switch byte {
            case 3, 4: throw ExitCode(130)
            case 10, 13: return String(decoding: line, as: UTF8.self)
            case 8, 127:
                // Removes the last character with all its bytes.
                while let last = line.popLast(), last & 0xC0 == 0x80 {}
            default: line.append(byte)
            }
        }
        throw ExitCode(130)
    }

    private static func display(_ text: String, at terminal: Int32) {
        _ = write(terminal, text, text.utf8.count)
    }
}
