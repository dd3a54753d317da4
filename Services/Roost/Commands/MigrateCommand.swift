import ArgumentParser
import ChildProcesses
import Foundation
import LocalPostgres

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

    func run() async throws {
        let workspace = try options.workspace()
        try workspace.create()
        let logger = RoostCommand.logger()
        guard try SuiteSettings(workspace: workspace).databaseURL == nil else {
            return try await migrate(in: workspace, on: nil)
        }
        let server = try PostgresServer(.init(directory: workspace.postgres), logger: logger)
        if try server.isRunningElsewhere() {
            return try await migrate(in: workspace, on: server)
        }
        try workspace.lock()
        try await server.start()
        do {
            try await migrate(in: workspace, on: server)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    private func migrate(in workspace: Workspace, on server: PostgresServer?) async throws {
        let settings = try SuiteSettings(workspace: workspace, makingSecrets: true)
        let database = SuiteDatabase(settings: settings, logger: RoostCommand.logger())
        let urls = try await database.prepare(on: server, telling: { print("roost: \($0)") })
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
}
