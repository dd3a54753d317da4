import ArgumentParser
import Foundation
import PushAPI

struct PushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Shows queued and failed notifications.",
        subcommands: [
            QueueCommand.self, CircuitsCommand.self, FailuresCommand.self, RetryCommand.self, DropCommand.self,
        ],
        defaultSubcommand: QueueCommand.self
    )

    struct QueueCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "queue",
            abstract: "Shows how many notifications wait for each push service, and since when."
        )

        @OptionGroup var options: WorkspaceOptions

        func run() async throws {
            let report = try await requesting(options) { try await $0.queue() }
            print(PushOutput.queue(report, at: Date()), terminator: "")
        }
    }

    struct CircuitsCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "circuits",
            abstract: "Shows which push services fail, why, and when they are retried."
        )

        @OptionGroup var options: WorkspaceOptions

        func run() async throws {
            let report = try await requesting(options) { try await $0.queue() }
            print(PushOutput.circuits(report), terminator: "")
        }
    }

    struct FailuresCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "failures",
            abstract: "Lists notifications that a push service rejected, newest first."
        )

        @Option(help: "The maximum number of failures, at most 100.") var limit = 20
        @Option(help: "Only failures with a lower number.") var before: Int64?
        @OptionGroup var options: WorkspaceOptions

        func run() async throws {
            let failures = try await requesting(options) { try await $0.failures(before: before, limit: limit) }
            print(PushOutput.failures(failures), terminator: "")
        }
    }

    struct RetryCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "retry",
            abstract: "Sends failed notifications again."
        )

        @OptionGroup var selected: PushSelectionOptions
        @OptionGroup var options: WorkspaceOptions

        func run() async throws {
            let changed = try await requesting(options) { try await $0.retry(selected.selection) }
            print("\(changed.count) will be sent again")
        }
    }

    struct DropCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "drop",
            abstract: "Drops failed notifications."
        )

        @OptionGroup var selected: PushSelectionOptions
        @OptionGroup var options: WorkspaceOptions

        func run() async throws {
            let changed = try await requesting(options) { try await $0.drop(selected.selection) }
            print("\(changed.count) were dropped")
        }
    }
}

struct PushSelectionOptions: ParsableArguments {
    @Argument(help: "The failures' numbers, as `roost push failures` prints them.") var ids: [Int64] = []
    @Option(help: "All failures of an application.") var application: String?
    @Option(help: "All failures with this reason.") var reason: String?
    @Flag(help: "All failures.") var all = false

    func validate() throws {
        guard !ids.isEmpty || application != nil || reason != nil || all else {
            throw ValidationError("select failures by number, --application, --reason or --all")
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

private func requesting<Response>(
    _ options: WorkspaceOptions,
    _ call: (PushClient) async throws -> Response
) async throws -> Response {
    try await reportingErrors { try await call(PushClient.ofOperator(options)) }
}
