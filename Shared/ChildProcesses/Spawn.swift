import CSpawn
import Foundation
import Glibc

/// A call of `posix_spawn(3)`, with the descriptors to open before and close after it.
struct Spawn: ~Copyable {
    private let command: ProcessCommand
    private var actions = posix_spawn_file_actions_t()
    private var attributes = posix_spawnattr_t()
    /// The child's ends of pipes and files, closed in this process after the start.
    private var childDescriptors: [Int32] = []
    private var input: Int32?
    private var output: (descriptor: Int32, receive: @Sendable ([UInt8]) -> Void)?

    init(_ command: ProcessCommand) {
        self.command = command
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
    }

    deinit {
        var actions = actions
        var attributes = attributes
        posix_spawn_file_actions_destroy(&actions)
        posix_spawnattr_destroy(&attributes)
        for descriptor in childDescriptors {
            close(descriptor)
        }
    }

    consuming func run() throws -> (pid: Int32, input: Int32?) {
        try connectInput()
        do {
            try connectOutput()
            posix_spawn_file_actions_addclosefrom_np(&actions, 3)
            if let directory = command.workingDirectory {
                posix_spawn_file_actions_addchdir_np(&actions, directory)
            }
            setSignalsAndGroup()
            let pid = try spawn()
            if let output {
                Self.drain(output.descriptor, into: output.receive)
            }
            return (pid, input)
        } catch {
            for descriptor in [input, output?.descriptor].compactMap(\.self) {
                close(descriptor)
            }
            throw error
        }
    }

    private mutating func connectInput() throws {
        switch command.input {
        case .inherited:
            return
        case .empty:
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        case .held:
            let pipe = try Self.makePipe()
            childDescriptors.append(pipe.read)
            input = pipe.write
            posix_spawn_file_actions_adddup2(&actions, pipe.read, 0)
        case .fed:
            // Sockets are used because writing to a pipe without a reader would raise SIGPIPE in this process.
            let sockets = try Self.makeSockets()
            childDescriptors.append(sockets.child)
            input = sockets.parent
            posix_spawn_file_actions_adddup2(&actions, sockets.child, 0)
        }
    }

    private mutating func connectOutput() throws {
        switch command.output {
        case .inherited:
            return
        case .discarded:
            posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        case .file(let path):
            let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else {
                throw ProcessError("cannot write \(path): \(String(cString: strerror(errno)))")
            }
            childDescriptors.append(descriptor)
            posix_spawn_file_actions_adddup2(&actions, descriptor, 1)
        case .chunks(let receive):
            let pipe = try Self.makePipe()
            childDescriptors.append(pipe.write)
            output = (pipe.read, receive)
            posix_spawn_file_actions_adddup2(&actions, pipe.write, 1)
        }
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
    }

    private mutating func setSignalsAndGroup() {
        var mask = sigset_t()
        sigemptyset(&mask)
        posix_spawnattr_setsigmask(&attributes, &mask)
        sigfillset(&mask)
        if command.ignoresBrokenPipes {
            // An ignored signal stays ignored in the child unless it is reset to its default.
            Glibc.signal(SIGPIPE, SIG_IGN)
            sigdelset(&mask, SIGPIPE)
        }
        posix_spawnattr_setsigdefault(&attributes, &mask)
        var flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
        if command.leadsGroup {
            posix_spawnattr_setpgroup(&attributes, 0)
            flags |= POSIX_SPAWN_SETPGROUP
        }
        posix_spawnattr_setflags(&attributes, Int16(flags))
    }

    private mutating func spawn() throws -> Int32 {
        let arguments = ([command.executable] + command.arguments).map { strdup($0) } + [nil]
        let environment = command.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer {
            for string in arguments + environment {
                free(string)
            }
        }
        var pid: Int32 = 0
        let error = posix_spawnp(&pid, command.executable, &actions, &attributes, arguments, environment)
        guard error == 0 else {
            throw ProcessError("cannot run \(command.executable): \(String(cString: strerror(error)))")
        }
        return pid
    }

    /// Returns a pipe that no other child inherits, even if another thread starts one at the same time.
    private static func makePipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [0, 0]
        guard pipe2(&ends, O_CLOEXEC) == 0 else {
            throw ProcessError("cannot open a pipe: \(String(cString: strerror(errno)))")
        }
        return (ends[0], ends[1])
    }

    private static func makeSockets() throws -> (child: Int32, parent: Int32) {
        var ends: [Int32] = [0, 0]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw ProcessError("cannot open a pair of sockets: \(String(cString: strerror(errno)))")
        }
        return (ends[0], ends[1])
    }

    private static func drain(_ descriptor: Int32, into receive: @escaping @Sendable ([UInt8]) -> Void) {
        let thread = Thread {
            var buffer = [UInt8](repeating: 0, count: 16_384)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                if count > 0 {
                    receive(Array(buffer[..<count]))
                } else if count == 0 || errno != EINTR {
                    break
                }
            }
            close(descriptor)
            receive([])
        }
        thread.name = "output"
        thread.start()
    }
}
