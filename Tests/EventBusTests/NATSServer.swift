import ChildProcesses
import EventBus
import Foundation
import Synchronization
import TestSupport

/// A real nats-server of a test's own, which it may kill and start again.
final class NATSServer: Sendable {
    let port: LoopbackPort
    private let running = Mutex<ChildProcess?>(nil)

    init() throws {
        port = try LoopbackPort.free()
    }

    var url: String { "nats://127.0.0.1:\(port.number)" }

    func start() async throws {
        let command = ProcessCommand(
            "nats-server",
            ["--addr", "127.0.0.1", "--port", "\(port.number)"],
            environment: ["PATH": "/usr/sbin:/usr/bin:" + (ProcessInfo.processInfo.environment["PATH"] ?? "")]
        )
        var quiet = command.privileged(signalOnParentDeath: "KILL")
        quiet.output = .discarded
        let process = try await ChildProcess.start(quiet)
        running.withLock { $0 = process }
        try await eventually { self.port.listener != nil || process.status != nil }
        guard process.status == nil else { throw TestSupportError("nats-server did not start") }
    }

    func kill() async {
        let process = running.withLock { $0 }
        process?.signal(SIGKILL)
        _ = await process?.exit()
    }

    /// Gone with the scope.
    static func with(isStarted: Bool = true, _ body: (NATSServer) async throws -> Void) async throws {
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
