import ArgumentParser
import AuthAPI
import Wire

struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Shows the security events of an account, newest first."
    )

    @Option(help: "The maximum number of events, 1 to 10000.") var limit = 100
    @OptionGroup var options: AccountOptions

    func run() async throws {
        let events = try await requesting(options.workspace) { auth in
            try await pages(upTo: limit) { try await auth.audit(of: options.account, cursor: $0, limit: $1) }
        }
        print(AdminOutput.events(events), terminator: "")
    }

    func validate() throws {
        guard 1...10_000 ~= limit else { throw ValidationError("--limit must be 1 to 10000") }
    }
}

struct DeletionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deletions",
        abstract: "Lists unfinished account deletions and the services that they wait for."
    )

    @OptionGroup var options: WorkspaceOptions

    func run() async throws {
        print(AdminOutput.deletions(try await requesting(options) { try await $0.deletions() }), terminator: "")
    }
}

struct ApplicationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "applications",
        abstract: "Lists customers' applications, newest first."
    )

    @OptionGroup var options: WorkspaceOptions

    func run() async throws {
        let applications = try await requesting(options) { auth in
            try await pages { cursor, _ in try await auth.applications(cursor: cursor) }
        }
        print(AdminOutput.applications(applications), terminator: "")
    }
}

struct SigningKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Shows the keys that sign access tokens; `roost keys rotate` changes them."
    )

    @OptionGroup var options: WorkspaceOptions

    func run() async throws {
        print(AdminOutput.keys(try await requesting(options) { try await $0.keys() }), terminator: "")
    }
}
