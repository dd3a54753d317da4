package import ChildProcesses
import Foundation
import Synchronization

/// A real nats-server of a test's own, which it may kill and start again.
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
            // Looked for once each time: the kernel's tables may skip it the next.
            return port.listener != nil
        }
    }

    /// It takes connections still, and says nothing.
    package func pause() async throws {
        guard let process = running.withLock({ $0 }) else { return }
        process.signal(SIGSTOP)
        // A thread of it that runs stops a little later than the signal is sent.
        let threads = "/proc/\(process.pid)/task"
        try await eventually("stopped") {
            try FileManager.default.contentsOfDirectory(atPath: threads).allSatisfy { thread in
                let status = try String(contentsOfFile: "\(threads)/\(thread)/stat", encoding: .utf8)
                return status.split(separator: ")").last?.hasPrefix(" T") == true
            }
        }
    }

    /// It goes on after ``pause()``.
    package func resume() {
        running.withLock { $0 }?.signal(SIGCONT)
    }

    package func kill() async {
        let process = running.withLock { $0 }
        process?.signal(SIGKILL)
        _ = await process?.exit()
    }

    /// Gone with the scope.
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
