import ArgumentParser
import ChildProcesses
import Foundation
import LocalPostgres
import Postgres

struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Applies the migrations of the services that are built.",
        discussion: """
            Services also apply their migrations when they start. This command applies them beforehand. Running \
            services continue, because a migration works with the previous release's code.
            """
    )

    @OptionGroup var options: WorkspaceOptions

    @Option(help: "Seconds to wait for a database that does not respond yet.")
    var wait = 60

    func run() async throws {
        let workspace = try options.workspace()
        guard try SuiteSettings(workspace: workspace).databaseURL == nil else {
            return try await migrate(in: workspace, on: nil)
        }
        // The secrets must exist before the data: no secret is created when encrypted data already exists.
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
                throw Workspace.Problem("the migration of \(instance.name) failed (\(status)):\n\(output)")
            }
            print("\(instance.name) is up to date")
        }
    }

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
