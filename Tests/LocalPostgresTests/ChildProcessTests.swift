import ChildProcesses
import Foundation
import Glibc
import Synchronization
import Testing

@Suite("Child processes") struct ChildProcessTests {
    private let environment = ProcessInfo.processInfo.environment

    private func shell(_ script: String) -> ProcessCommand {
        ProcessCommand("/bin/sh", ["-c", script], environment: environment)
    }

    @Test("The exit status is a code or a signal")
    func exitStatus() async throws {
        let code = try await ChildProcess.start(shell("exit 7"))
        let killed = try await ChildProcess.start(shell("kill -KILL $$"))

        #expect(await code.exit() == .code(7))
        #expect(await killed.exit() == .signal(SIGKILL))
        #expect(ExitStatus.signal(SIGKILL).shellCode == 137)
    }

    @Test("Several waiters get the same exit status")
    func concurrentWaiters() async throws {
        var command = shell("read line")
        command.input = .held
        let child = try await ChildProcess.start(command)

        async let first = child.exit()
        async let second = child.exit()
        child.closeInput()

        #expect(await first == .code(1))
        #expect(await second == .code(1))
        #expect(await child.exit() == .code(1))
    }

    @Test("Waiting has a timeout")
    func waitTimeout() async throws {
        let child = try await ChildProcess.start(shell("sleep 60"))

        #expect(await child.exit(within: .milliseconds(20)) == nil)

        child.signal(SIGTERM)
        #expect(await child.exit(within: .seconds(60)) == .signal(SIGTERM))
    }

    @Test("A child whose input is held open runs until the input is closed")
    func heldInput() async throws {
        var command = shell("cat; echo ended")
        command.input = .held
        let received = Mutex<[UInt8]>([])
        let (ended, end) = AsyncStream.makeStream(of: Never.self)
        command.output = .chunks { chunk in
            chunk.isEmpty ? end.finish() : received.withLock { $0 += chunk }
        }
        let child = try await ChildProcess.start(command)
        #expect(await child.exit(within: .milliseconds(20)) == nil)

        child.closeInput()
        for await _ in ended {}

        #expect(String(decoding: received.withLock { $0 }, as: UTF8.self) == "ended\n")
        #expect(await child.exit().isSuccess)
    }

    @Test("A child inherits no descriptors and no ignored signals")
    func cleanChildEnvironment() async throws {
        // A descriptor that is not marked close-on-exec.
        let stray = open("/dev/null", O_RDONLY)
        defer { close(stray) }
        signal(SIGUSR1, SIG_IGN)
        defer { signal(SIGUSR1, SIG_DFL) }

        let (_, descriptors) = try await shell("ls /proc/$$/fd").run(within: .seconds(60))
        // glibc ignores its own two signals, 32 and 33, in every child of posix_spawn(3).
        let (_, status) = try await shell("exec grep -E 'Sig(Blk|Ign)' /proc/self/status").run(within: .seconds(60))

        #expect(descriptors.split(separator: "\n") == ["0", "1", "2"])
        #expect(status == "SigBlk:\t0000000000000000\nSigIgn:\t0000000180000000\n")
    }

    @Test("A missing executable is an error")
    func missingExecutable() async throws {
        await #expect(throws: ProcessError.self) {
            try await ChildProcess.start(ProcessCommand("/no/such/program", environment: environment))
        }
    }

    @Test("A run has a timeout, and keeps the end of its output")
    func runTimeoutAndOutputLimit() async throws {
        let (status, _) = try await shell("exec sleep 60").run(within: .milliseconds(50))
        let (_, output) = try await shell("head -c 200000 /dev/zero | tr '\\0' x; echo end").run(within: .seconds(60))

        #expect(status == .signal(SIGKILL))
        #expect(output.utf8.count == 65_536)
        #expect(output.hasSuffix("xend\n"))
    }

    @Test("A process with the same id but a different start time is another process")
    func processIdentity() async throws {
        let child = try await ChildProcess.start(shell("sleep 60"))
        let identity = try #require(child.identity)

        let other = ProcessIdentity(pid: identity.pid, startTime: identity.startTime - 1)
        other.signal(SIGKILL)

        #expect(!other.isAlive)
        #expect(identity.isAlive)
        identity.signal(SIGKILL)
        #expect(await child.exit() == .signal(SIGKILL))
        #expect(!identity.isAlive)
        #expect(await identity.hasEnded(within: .zero))
    }

    @Test("The processes of a group end with their leader", arguments: ["exit 0", "kill -KILL $$"])
    func leftovers(end: String) async throws {
        var command = shell("sleep 600 & echo $!; read line; \(end)")
        command.input = .held
        let received = Mutex<[UInt8]>([])
        let (output, signal) = AsyncStream.makeStream(of: Void.self)
        command.output = .chunks { chunk in
            received.withLock { $0 += chunk }
            signal.yield()
        }
        let parent = try await ChildProcess.start(command)
        for await _ in output { break }
        let text = String(decoding: received.withLock { $0 }, as: UTF8.self).trimmingCharacters(in: .newlines)
        let pid = try #require(Int32(text))
        let leftover = try #require(ProcessIdentity(pid: pid))

        parent.closeInput()

        _ = await parent.exit()
        #expect(await leftover.hasEnded(within: .seconds(30)))
    }

    @Test("A child receives a signal when its parent exits")
    func parentDeathSignal() async throws {
        // A parent with a child that would outlive it without the signal.
        let grandchild = ProcessCommand("sleep", ["60"], environment: environment)
            .privileged(signalOnParentDeath: "TERM")
        let words = ([grandchild.executable] + grandchild.arguments).joined(separator: " ")
        var command = shell("\(words) >/dev/null 2>&1 & echo $!; read line; kill -KILL $$")
        command.input = .held
        // The child's group is not killed with the parent.
        command.leadsGroup = false
        let received = Mutex<[UInt8]>([])
        let (output, signal) = AsyncStream.makeStream(of: Void.self)
        command.output = .chunks { chunk in
            received.withLock { $0 += chunk }
            signal.yield()
        }
        let parent = try await ChildProcess.start(command)
        for await _ in output {
            break
        }
        let text = String(decoding: received.withLock { $0 }, as: UTF8.self).trimmingCharacters(in: .newlines)
        let pid = try #require(Int32(text))
        let identity = try #require(ProcessIdentity(pid: pid))
        // The shell's fork becomes sleep through setpriv, which requests the signal.
        while identity.isAlive, !identity.commandLine.hasPrefix("sleep") {
            try await Task.sleep(for: .milliseconds(5))
        }

        parent.closeInput()

        #expect(await parent.exit() == .signal(SIGKILL))
        #expect(await identity.hasEnded(within: .seconds(30)))
    }
}
