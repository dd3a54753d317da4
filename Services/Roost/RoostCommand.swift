import ArgumentParser
import Logging

/// The operator's command.
@main
struct RoostCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "roost",
        abstract: "Runs Roost on this machine and looks after it.",
        subcommands: [
            UpCommand.self, DoctorCommand.self, MigrateCommand.self, AdminCommand.self, KeysCommand.self,
            PushCommand.self, BackupCommand.self, RestoreCommand.self, DataCommand.self, ChatCommand.self,
            DemoCommand.self, ReadyCommand.self, WithPostgresCommand.self,
        ]
    )

    /// What goes wrong is told to a person at the terminal; the services' own logs are their own.
    static func logger() -> Logger {
        Logger(label: "roost", factory: { StreamLogHandler.standardError(label: $0) })
    }
}
