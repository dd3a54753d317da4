package import ChildProcesses
import Foundation
import Synchronization

/// A real nats-server for one test, which the test can kill and restart.
package final class NATSServer: Sendable {
    package let port: LoopbackPort
    private let running = Mutex<ChildProcess?>(nil)

    package init() throws {
        port = try LoopbackPort.free()
    }

    package var url: String { "nats://127.0.0.1:\(port.number)" }

    package func start(_ options: [String] = []) async throws {
        let command = ProcessCommand(
            "nats-server",
            ["--addr", "127.0.0.1", "--port", "\(port.number)"] + options,
            environment: ["PATH": "/usr/sbin:/usr/bin:" + (ProcessInfo.processInfo.environment["PATH"] ?? "")]
        )
        var quiet = command.privileged(signalOnParentDeath: "KILL")
        quiet.output = .discarded
        let process = try await ChildProcess.start(quiet)
        running.withLock { $0 = process }
        try await eventually(within: .seconds(60), "listening") {
            guard process.status == nil else { throw TestSupportError("nats-server did not start") }
            // One lookup per poll is enough, because the kernel's tables may temporarily miss the socket.
            return port.listener != nil
        }
    }

    /// Pauses the process: the kernel still accepts connections, but the server does not respond.
    package func pause() async throws {
        guard let process = running.withLock({ $0 }) else { return }
        process.signal(SIGSTOP)
        // Running threads stop shortly after the signal.
        let threads = "/proc/\(process.pid)/task"
        try await eventually("stopped") {
            try FileManager.default.contentsOfDirectory(atPath: threads).allSatisfy { thread in
                let status = try String(contentsOfFile: "\(threads)/\(thread)/stat", encoding: .utf8)
                return status.split(separator: ")").last?.hasPrefix(" T") == true
            }
        }
    }

    /// Continues the process after ``pause()``.
    package func resume() {
        running.withLock { $0 }?.signal(SIGCONT)
    }

    package func kill() async {
        let process = running.withLock { $0 }
        process?.signal(SIGKILL)
        _ = await process?.exit()
    }

    /// Runs `body` with a server, and kills the server afterwards.
    package static func with(isStarted: Bool = true, _ body: (NATSServer) async throws -> Void) async throws {
        let server = try NATSServer()
        if isStarted { try await server.start() }
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await body(server))
        } catch {
            outcome = .failure(error)
        }
        await server.kill()
        try outcome.get()
    }
}
