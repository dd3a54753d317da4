import ChildProcesses
import Foundation
import Glibc
import Synchronization
import Testing

@Suite struct ChildProcessTests {
    private let environment = ProcessInfo.processInfo.environment

    private func shell(_ script: String) -> ProcessCommand {
        ProcessCommand("/bin/sh", ["-c", script], environment: environment)
    }

    @Test func exitStatus() async throws {
        let code = try await ChildProcess.start(shell("exit 7"))
        let killed = try await ChildProcess.start(shell("kill -KILL $$"))

        #expect(await code.exit() == .code(7))
        #expect(await killed.exit() == .signal(SIGKILL))
        #expect(ExitStatus.signal(SIGKILL).shellCode == 137)
    }

    @Test func concurrentWaiters() async throws {
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

    @Test func waitTimeout() async throws {
        let child = try await ChildProcess.start(shell("sleep 60"))

        #expect(await child.exit(within: .milliseconds(20)) == nil)

        child.signal(SIGTERM)
        #expect(await child.exit(within: .seconds(60)) == .signal(SIGTERM))
    }

    @Test func heldInput() async throws {
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

    @Test func cleanChildEnvironment() async throws {
        // A descriptor that its opener forgot to close on exec.
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

    @Test func missingExecutable() async throws {
        await #expect(throws: ProcessError.self) {
            try await ChildProcess.start(ProcessCommand("/no/such/program", environment: environment))
        }
    }

    @Test func runTimeoutAndOutputLimit() async throws {
        let (status, _) = try await shell("exec sleep 60").run(within: .milliseconds(50))
        let (_, output) = try await shell("head -c 200000 /dev/zero | tr '\\0' x; echo end").run(within: .seconds(60))

        #expect(status == .signal(SIGKILL))
        #expect(output.utf8.count == 65_536)
        #expect(output.hasSuffix("xend\n"))
    }

    @Test func processIdentity() async throws {
        let child = try await ChildProcess.start(shell("sleep 60"))
        let identity = try #require(child.identity)

        let stranger = ProcessIdentity(pid: identity.pid, startTime: identity.startTime - 1)
        stranger.signal(SIGKILL)

        #expect(!stranger.isAlive)
        #expect(identity.isAlive)
        identity.signal(SIGKILL)
        #expect(await child.exit() == .signal(SIGKILL))
        #expect(!identity.isAlive)
        #expect(await identity.hasEnded(within: .zero))
    }

    @Test("What a process that leads a group leaves behind is killed with it", arguments: ["exit 0", "kill -KILL $$"])
    func leftovers(end: String) async throws {
        var command = shell("sleep 600 & echo $!; read line; \(end)")
        command.input = .held
        let received = Mutex<[UInt8]>([])
        let (said, say) = AsyncStream.makeStream(of: Void.self)
        command.output = .chunks { chunk in
            received.withLock { $0 += chunk }
            say.yield()
        }
        let parent = try await ChildProcess.start(command)
        for await _ in said { break }
        let text = String(decoding: received.withLock { $0 }, as: UTF8.self).trimmingCharacters(in: .newlines)
        let pid = try #require(Int32(text))
        let leftover = try #require(ProcessIdentity(pid: pid))

        parent.closeInput()

        _ = await parent.exit()
        #expect(await leftover.hasEnded(within: .seconds(30)))
    }

    @Test func parentDeathSignal() async throws {
        // A parent whose only child outlives it unless told.
        let grandchild = ProcessCommand("sleep", ["60"], environment: environment)
            .privileged(signalOnParentDeath: "TERM")
        let words = ([grandchild.executable] + grandchild.arguments).joined(separator: " ")
        var command = shell("\(words) >/dev/null 2>&1 & echo $!; read line; kill -KILL $$")
        command.input = .held
        // Its group is not killed with it.
        command.leadsGroup = false
        let received = Mutex<[UInt8]>([])
        let (told, tell) = AsyncStream.makeStream(of: Void.self)
        command.output = .chunks { chunk in
            received.withLock { $0 += chunk }
            tell.yield()
        }
        let parent = try await ChildProcess.start(command)
        for await _ in told {
            break
        }
        let text = String(decoding: received.withLock { $0 }, as: UTF8.self).trimmingCharacters(in: .newlines)
        let pid = try #require(Int32(text))
        let identity = try #require(ProcessIdentity(pid: pid))
        // The shell's fork becomes sleep by way of setpriv, and is told only once it is.
        while identity.isAlive, !identity.commandLine.hasPrefix("sleep") {
            try await Task.sleep(for: .milliseconds(5))
        }

        parent.closeInput()

        #expect(await parent.exit() == .signal(SIGKILL))
        #expect(await identity.hasEnded(within: .seconds(30)))
    }
}
