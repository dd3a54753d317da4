/// A program to run, and the connections between it and this process.
package struct ProcessCommand: Sendable {
    /// The source of the child's standard input.
    package enum Input: Sendable {
        case inherited
        case empty
        /// A pipe that this process holds open: the child reads end of file when `closeInput()` is called or this
        /// process ends.
        case held
        /// Like `held`, and `ChildProcess.send(_:descriptors:)` can write to it.
        case fed
    }

    /// The destination of the child's standard output and standard error.
    package enum Output: Sendable {
        case inherited
        case discarded
        /// A file to append to, created if necessary.
        case file(path: String)
        /// A function that receives the output in pieces on a dedicated thread; an empty piece marks the end.
        case chunks(@Sendable ([UInt8]) -> Void)
    }

    /// A path, or a name to find along `PATH`.
    package var executable: String
    package var arguments: [String]
    package var environment: [String: String]
    package var workingDirectory: String?
    package var input: Input = .empty
    package var output: Output = .inherited
    /// Whether the child leads its own process group, so that a terminal's Ctrl-C does not reach it.
    package var leadsGroup = true
    /// Whether the child ignores SIGPIPE, as servers require: a closed log pipe must not end them.
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

    /// Returns the same command, run as another user or with a signal when this process dies.
    ///
    /// The command is wrapped in util-linux's `setpriv`, which keeps the process id. The signal works because the
    /// thread that starts a child also waits for it (`ChildProcess`).
    ///
    /// - Parameters:
    ///   - user: the user to run as; nil for the current one.
    ///   - signalOnParentDeath: the name of the signal; nil for none.
    /// - Returns: the command.
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

/// The exit status of a process.
package enum ExitStatus: Hashable, Sendable, CustomStringConvertible {
    case code(Int32)
    case signal(Int32)

    package var isSuccess: Bool { self == .code(0) }

    /// The number that a shell reports: the exit code, or 128 plus the signal.
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

/// The error of starting a process or of preparing its environment.
package struct ProcessError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
