import ArgumentParser
import Foundation
import ServiceClient
import Wire

struct SetAsideCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set-aside",
        abstract: "Shows rows that a service could not read or process, and retries or drops them.",
        discussion: """
            A row that cannot be processed is retried for some time and then set aside, so that it stops no other row. \
            Retry rows after you have installed a release that can process them.
            """,
        subcommands: [ListCommand.self, ShowCommand.self, RetryCommand.self, DropCommand.self]
    )

    struct ListCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists rows, newest first.")

        @OptionGroup var service: SetAsideService
        @Option(help: "The maximum number of rows, at most 100.") var limit = 20
        @Option(help: "Only rows with a lower number.") var before: Int64?

        func run() async throws {
            let query = [("limit", "\(limit)")] + (before.map { [("before", "\($0)")] } ?? [])
            let page = try await service.requesting { try await $0.get(path, query: query, as: Page<SetAsideRow>.self) }
            print(AdminOutput.setAside(page.items), terminator: "")
        }
    }

    struct ShowCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Shows one row with its columns. They may contain users' texts."
        )

        @OptionGroup var service: SetAsideService
        @Argument(help: "The row's number, as `list` prints it.") var id: Int64

        func run() async throws {
            let row = try await service.requesting { try await $0.get("\(path)/\(id)", as: SetAsideRow.self) }
            print(try AdminOutput.setAside(row), terminator: "")
        }
    }

    struct RetryCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "retry",
            abstract: "Processes rows again at once."
        )

        @OptionGroup var service: SetAsideService
        @OptionGroup var selected: SetAsideSelected

        func run() async throws {
            print("rows retried: \(try await service.change("retry", selected).count)")
        }
    }

    struct DropCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "drop",
            abstract: "Drops rows: deletes them, or marks them as done."
        )

        @OptionGroup var service: SetAsideService
        @OptionGroup var selected: SetAsideSelected

        func run() async throws {
            print("rows dropped: \(try await service.change("drop", selected).count)")
        }
    }
}

private let path = "/internal/set-aside"

struct SetAsideService: ParsableArguments {
    private static let names = ["auth", "conversations", "photos", "push", "social"]

    @Argument(help: "The service: \(names.joined(separator: ", ")).") var service: String
    @OptionGroup var workspace: WorkspaceOptions

    func validate() throws {
        guard Self.names.contains(service) else {
            throw ValidationError("the service must be one of \(Self.names.joined(separator: ", "))")
        }
    }

    func requesting<Response>(_ call: (ServiceClient) async throws -> Response) async throws -> Response {
        try await reportingErrors { try await call(ServiceClient.ofOperator(service, workspace)) }
    }

    /// Retries or drops rows.
    ///
    /// - Throws: `Workspace.Problem` when none of the selected rows is set aside.
    func change(_ verb: String, _ selected: SetAsideSelected) async throws -> SetAsideChange {
        let change: SetAsideChange = try await requesting {
            try await $0.post("\(path)/\(verb)", selected.selection, timeout: .seconds(60))
        }
        guard change.count > 0 || selected.all else {
            throw Workspace.Problem("\(service) has not set aside such a row")
        }
        return change
    }
}

struct SetAsideSelected: ParsableArguments {
    @Argument(help: "The rows' numbers, as `list` prints them.") var ids: [Int64] = []
    @Option(help: "All rows of this kind that are set aside.") var kind: String?
    @Flag(help: "All rows that are set aside.") var all = false

    func validate() throws {
        guard !ids.isEmpty || kind != nil || all else {
            throw ValidationError("select rows by number, --kind or --all")
        }
    }

    var selection: SetAsideSelection {
        SetAsideSelection(ids: ids.isEmpty ? nil : ids, kind: kind, all: all ? true : nil)
    }
}

extension AdminOutput {
    static func setAside(_ rows: [SetAsideRow]) -> String {
        guard !rows.isEmpty else { return "no row is set aside\n" }
        let lines = rows.map { row in
            [
                "\(row.id)", row.kind, row.key.joined(separator: " "), row.reason, "\(row.attempts)",
                Timestamp.string(from: row.lastFailedAt),
                row.retryAt.map { "retried at \(Timestamp.string(from: $0))" } ?? "set aside", row.detail,
            ]
        }
        let heads = ["NUMBER", "KIND", "KEY", "REASON", "ATTEMPTS", "LAST FAILED", "STATE", "DETAIL"]
        return TextTable.lines([heads] + lines)
    }

    static func setAside(_ row: SetAsideRow) throws -> String {
        var content = "the row no longer exists\n"
        if let columns = row.content {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            content = String(decoding: try encoder.encode(columns), as: UTF8.self) + "\n"
        }
        return setAside([row]) + "first failed: \(Timestamp.string(from: row.firstFailedAt))\n" + content
    }
}
