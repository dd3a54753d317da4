import ArgumentParser
import Foundation
import PushAPI

/// `roost push`: whether notifications get through, and what is done about those that do not.
struct PushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Shows what waits to be sent to phones and browsers, and what could not be.",
        subcommands: [
            QueueCommand.self, CircuitsCommand.self, FailuresCommand.self, RetryCommand.self, DropCommand.self,
        ],
        defaultSubcommand: QueueCommand.self
    )

    /// `roost push queue`.
    struct QueueCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "queue",
            abstract: "Says how much waits for which push service, and since when."
        )

        @OptionGroup var options: WorkspaceOptions

        func run() async throws {
            let report = try await requesting(options) { try await $0.queue() }
            print(PushOutput.queue(report, at: Date()), terminator: "")
        }
    }

    /// `roost push circuits`.
    struct CircuitsCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "circuits",
            abstract: "Says which push services fail, why, and when they are tried again."
        )

        @OptionGroup var options: WorkspaceOptions

        func run() async throws {
            let report = try await requesting(options) { try await $0.queue() }
            print(PushOutput.circuits(report), terminator: "")
        }
    }

    /// `roost push failures`.
    struct FailuresCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "failures",
            abstract: "Lists what a push service would not take, the newest first."
        )

        @Option(help: "How many, at most 100.") var limit = 20
        @Option(help: "Those before this one.") var before: Int64?
        @OptionGroup var options: WorkspaceOptions

        func run() async throws {
            let failures = try await requesting(options) { try await $0.failures(before: before, limit: limit) }
            print(PushOutput.failures(failures), terminator: "")
        }
    }

    /// `roost push retry`.
    struct RetryCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "retry",
            abstract: "Has what could not be sent sent once more."
        )

        @OptionGroup var selected: PushSelectionOptions
        @OptionGroup var options: WorkspaceOptions

        func run() async throws {
            let changed = try await requesting(options) { try await $0.retry(selected.selection) }
            print("\(changed.count) will be sent once more")
        }
    }

    /// `roost push drop`.
    struct DropCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "drop",
            abstract: "Gives up what could not be sent."
        )

        @OptionGroup var selected: PushSelectionOptions
        @OptionGroup var options: WorkspaceOptions

        func run() async throws {
            let changed = try await requesting(options) { try await $0.drop(selected.selection) }
            print("\(changed.count) were given up")
        }
    }
}

/// Which failures are meant.
struct PushSelectionOptions: ParsableArguments {
    @Argument(help: "Their numbers, as `roost push failures` lists them.") var ids: [Int64] = []
    @Option(help: "Those of an application.") var application: String?
    @Option(help: "Those for this reason.") var reason: String?
    @Flag(help: "All of them.") var all = false

    func validate() throws {
        guard !ids.isEmpty || application != nil || reason != nil || all else {
            throw ValidationError("say which: numbers, --application, --reason or --all")
        }
    }

    var selection: PushFailureSelection {
        PushFailureSelection(
            ids: ids.isEmpty ? nil : ids,
            applicationId: application,
            reason: reason,
            all: all ? true : nil
        )
    }
}

/// Calls push.
private func requesting<Response>(
    _ options: WorkspaceOptions,
    _ call: (PushClient) async throws -> Response
) async throws -> Response {
    try await reportingErrors { try await call(PushClient.ofOperator(options)) }
}
