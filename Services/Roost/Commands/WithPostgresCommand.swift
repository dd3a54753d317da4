import ArgumentParser
import ChildProcesses
import Foundation
import Glibc
import LocalPostgres

struct WithPostgresCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "with-postgres",
        abstract: "Runs a command with TEST_DATABASE_URL set to a temporary PostgreSQL.",
        discussion: """
            The server is created for the command in a temporary folder, listens on 127.0.0.1, and does not flush to \
            disk. Signals are forwarded to the command, and its exit code is returned.
            """
    )

    @Argument(parsing: .captureForPassthrough, help: "The command and its arguments.")
    var command: [String] = []

    func validate() throws {
        if words.isEmpty {
            throw ValidationError("a command is required after --")
        }
    }

    func run() async throws {
        let signals = Signals([SIGINT, SIGTERM, SIGHUP, SIGQUIT])
        let server = try await PostgresServer.temporary(logger: RoostCommand.logger())
        let status: ExitStatus
        do {
            status = try await run(on: server, forwarding: signals)
        } catch {
            await server.discard()
            throw error
        }
        await server.discard()
        throw ExitCode(status.shellCode)
    }

    private var words: [String] { Array(command.drop { $0 == "--" }) }

    private func run(on server: PostgresServer, forwarding signals: Signals) async throws -> ExitStatus {
        var environment = ProcessInfo.processInfo.environment
        environment["TEST_DATABASE_URL"] = server.url()
        var command = ProcessCommand(words[0], Array(words.dropFirst()), environment: environment)
        command.input = .inherited
        // The command stays in this process group, so that it can read from the terminal and receives Ctrl-C.
        command.leadsGroup = false
        let child = try await ChildProcess.start(command)
        let relay = Task {
            for await signal in signals where !(signal == SIGINT && isatty(0) == 1) {
                child.signal(signal)
            }
        }
        defer { relay.cancel() }
        return await child.exit()
    }
}
