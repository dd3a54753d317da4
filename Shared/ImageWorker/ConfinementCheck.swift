import CVips
import Glibc

/// Attempts operations that confinement must block: `image-worker 640000000 check`.
enum ConfinementCheck {
    /// Prints each attempt with its error, or `allowed`.
    ///
    /// - Returns: Whether every attempt failed.
    static func run(writingTo descriptor: Int32) -> Bool {
        let parent = getppid()
        let attempts: [(String, () -> Bool)] = [
            ("socket(AF_INET)", { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) >= 0 }),
            ("socket(AF_UNIX)", { socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0) >= 0 }),
            ("open(/etc/passwd)", { open("/etc/passwd", O_RDONLY) >= 0 }),
            ("open(/proc/1/environ)", { open("/proc/1/environ", O_RDONLY) >= 0 }),
            ("open(/proc/PARENT/environ)", { open("/proc/\(parent)/environ", O_RDONLY) >= 0 }),
            ("open(new file)", { open("/tmp/image-worker-check", O_WRONLY | O_CREAT, 0o600) >= 0 }),
            ("unlink", { unlink("/tmp/image-worker-check") == 0 }),
            ("ptrace(PARENT)", { fails(cvips_try_ptrace(parent)) }),
            ("kill(PARENT, 0)", { kill(parent, 0) == 0 }),
            ("posix_spawn", { spawn() }),
        ]
        var isConfined = true
        for (name, attempt) in attempts {
            errno = 0
            let isAllowed = attempt()
            isConfined = isConfined && !isAllowed
            let result = isAllowed ? "allowed" : String(cString: strerror(errno))
            _ = writeAll(Array("\(name): \(result)\n".utf8), to: descriptor)
        }
        return isConfined
    }

    private static func fails(_ error: Int32) -> Bool {
        errno = error
        return error == 0
    }

    private static func spawn() -> Bool {
        var process: pid_t = 0
        errno = posix_spawn(&process, "/bin/true", nil, nil, [nil], [nil])
        return errno == 0
    }
}
