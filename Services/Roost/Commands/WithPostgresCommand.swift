import ArgumentParser
import ChildProcesses
import Foundation
import Glibc
import LocalPostgres

/// `roost with-postgres -- command…`: runs a command beside a PostgreSQL of its own.
struct WithPostgresCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "with-postgres",
        abstract: "Runs a command with TEST_DATABASE_URL set to a PostgreSQL of its own, gone afterwards.",
        discussion: """
            The server is made for the command in a temporary folder, listens on 127.0.0.1, and does not flush to disk. \
            Signals are passed on to the command, and its exit code is the answer.
            """
    )

    @Argument(parsing: .captureForPassthrough, help: "The command and its arguments.")
    var command: [String] = []

    func validate() throws {
        if words.isEmpty {
            throw ValidationError("Give a command after --.")
        }
    }

    func run() async throws {
        let signals = Signals([SIGINT, SIGTERM, SIGHUP, SIGQUIT])
        let server = try await PostgresServer.temporary(logger: RoostCommand.logger())
        let status: ExitStatus
        do {
            status = try await run(on: server, passingOn: signals)
        } catch {
            await server.discard()
            throw error
        }
        await server.discard()
        throw ExitCode(status.shellCode)
    }

    private var words: [String] { Array(command.drop { $0 == "--" }) }

    private func run(on server: PostgresServer, passingOn signals: Signals) async throws -> ExitStatus {
        var environment = ProcessInfo.processInfo.environment
        environment["TEST_DATABASE_URL"] = server.url()
        var command = ProcessCommand(words[0], Array(words.dropFirst()), environment: environment)
        command.input = .inherited
        // In this group, so that it may read from the terminal and hears Ctrl-C from there.
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
