/// What is to be run, and how it stands to the one that runs it.
package struct ProcessCommand: Sendable {
    /// Where a child's standard input comes from.
    package enum Input: Sendable {
        case inherited
        case empty
        /// A pipe whose other end this process holds: the child reads end of file when `closeInput()` is called or
        /// this process ends, however it ends.
        case held
        /// As `held`, and `ChildProcess.send(_:)` writes into it.
        case fed
    }

    /// Where a child's standard output and standard error go.
    package enum Output: Sendable {
        case inherited
        case discarded
        /// Appended to a file, which is made if need be.
        case file(path: String)
        /// Handed over as it comes, from a thread of its own; an empty piece says that no more will come.
        case chunks(@Sendable ([UInt8]) -> Void)
    }

    /// A path, or a name to look for along `PATH`.
    package var executable: String
    package var arguments: [String]
    package var environment: [String: String]
    package var workingDirectory: String?
    package var input: Input = .empty
    package var output: Output = .inherited
    /// Whether the child leads a process group of its own, so that a terminal's Ctrl-C does not reach it.
    package var leadsGroup = true
    /// Whether the child starts with SIGPIPE ignored, as a server wants it: a log that nobody reads is no reason to end.
    package var ignoresBrokenPipes = false

    package init(
        _ executable: String,
        _ arguments: [String] = [],
        environment: [String: String],
        workingDirectory: String? = nil
    ) {
        self.executable = executable
        self.arguments = arguments
        self.environment = environment
        self.workingDirectory = workingDirectory
    }

    /// The same command as another user and, if asked for, with a signal sent to it when this process is no more.
    ///
    /// util-linux's `setpriv` becomes the command, so the process id is the command's own. The death signal works
    /// because a child is started by the thread that waits for it (`ChildProcess`).
    package func privileged(user: String? = nil, signalOnParentDeath: String? = nil) -> ProcessCommand {
        guard user != nil || signalOnParentDeath != nil else {
            return self
        }
        var command = self
        command.executable = "setpriv"
        command.arguments = []
        if let user {
            command.arguments += ["--reuid=\(user)", "--regid=\(user)", "--init-groups"]
        }
        if let signalOnParentDeath {
            command.arguments += ["--pdeathsig", signalOnParentDeath]
        }
        command.arguments += ["--", executable] + arguments
        return command
    }
}

/// How a process ended.
package enum ExitStatus: Hashable, Sendable, CustomStringConvertible {
    case code(Int32)
    case signal(Int32)

    package var isSuccess: Bool { self == .code(0) }

    /// The number a shell gives: the exit code, or 128 and the signal.
    package var shellCode: Int32 {
        switch self {
        case .code(let code): code
        case .signal(let number): 128 + number
        }
    }

    package var description: String {
        switch self {
        case .code(let code): "exit code \(code)"
        case .signal(let number): "signal \(number)"
        }
    }
}

/// A process could not be started, or what was to be done around it could not.
package struct ProcessError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
