import ArgumentParser
import Logging

@main
struct RoostCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "roost",
        abstract: "Runs and maintains Roost on this machine.",
        version: "0.1.0",
        subcommands: [
            UpCommand.self, DoctorCommand.self, MigrateCommand.self, AdminCommand.self, KeysCommand.self,
            PushCommand.self, BackupCommand.self, RestoreCommand.self, DataCommand.self, ChatCommand.self,
            DemoCommand.self, ReadyCommand.self, WithPostgresCommand.self,
        ]
    )

    /// Returns a logger to standard error, for the operator at the terminal.
    static func logger() -> Logger {
        Logger(label: "roost", factory: { StreamLogHandler.standardError(label: $0) })
    }
}
