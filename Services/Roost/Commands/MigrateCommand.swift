import ArgumentParser
import ChildProcesses
import Foundation
import LocalPostgres
import Postgres

/// `roost migrate`: brings every schema to what the built services expect, without serving.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Applies the migrations of the services that are built.",
        discussion: """
            Services migrate by themselves when they start. To migrate first is for who wants to see it happen; the \
            services that run go on, since a migration works with the previous release's code.
            """
    )

    @OptionGroup var options: WorkspaceOptions

    @Option(help: "Seconds to wait for a database that does not answer yet.")
    var wait = 60

    func run() async throws {
        let workspace = try options.workspace()
        guard try SuiteSettings(workspace: workspace).databaseURL == nil else {
            return try await migrate(in: workspace, on: nil)
        }
        // Before there is data: secrets are not made anew beside what older ones have encrypted.
        _ = try SuiteSettings(workspace: workspace, makingSecrets: true)
        let server = PrivateServer(workspace: workspace, logger: RoostCommand.logger())
        try await server.withRunningServer { try await migrate(in: workspace, on: $0) }
    }

    private func migrate(in workspace: Workspace, on server: PostgresServer?) async throws {
        let settings = try SuiteSettings(workspace: workspace, makingSecrets: true)
        let database = SuiteDatabase(settings: settings, logger: RoostCommand.logger())
        let urls = try await retrying {
            try await database.prepare(on: server, reporting: { print("roost: \($0)") })
        }
        let executables = try Executables()
        for instance in try settings.instances() where instance.name == instance.program.name {
            guard let url = urls[instance.name], let executable = executables.path(of: instance.name) else {
                continue
            }
            var environment = try settings.environment(of: instance, databaseURL: url)
            environment["MIGRATE_ONLY"] = "1"
            environment["SUPERVISED"] = nil
            let command = ProcessCommand(executable, environment: environment, workingDirectory: workspace.root)
            let (status, output) = try await command.run(within: .seconds(600))
            guard status.isSuccess else {
                throw Workspace.Problem("\(instance.name) was not migrated (\(status)):\n\(output)")
            }
            print("\(instance.name) is up to date")
        }
    }
    /// Again and again while the server does not answer, for as long as may be waited.
    private func retrying<Value>(_ attempt: () async throws -> Value) async throws -> Value {
        let deadline = ContinuousClock.now + .seconds(wait)
        var pause = Duration.milliseconds(100)
        while true {
            do {
                return try await attempt()
            } catch let error as PostgresError where error.isUnavailable && .now + pause < deadline {
                print("roost: waiting for the database: \(error)")
                try await Task.sleep(for: pause)
                pause = min(pause * 2, .seconds(2))
            }
        }
    }
}
