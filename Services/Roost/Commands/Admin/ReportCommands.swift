import ArgumentParser
import AuthAPI
import Wire

/// `roost admin audit`.
struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Shows what happened to an account, the newest first."
    )

    @Option(help: "How many entries are shown.") var limit = 100
    @OptionGroup var options: AccountOptions

    func run() async throws {
        let events = try await requesting(options.workspace) { auth in
            try await pages(upTo: limit) { try await auth.audit(of: options.account, cursor: $0, limit: $1) }
        }
        print(AdminOutput.events(events), terminator: "")
    }

    func validate() throws {
        guard 1...10_000 ~= limit else { throw ValidationError("--limit is from 1 to 10000") }
    }
}

/// `roost admin deletions`.
struct DeletionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deletions",
        abstract: "Says which deleted people are not wiped everywhere yet, and by whom."
    )

    @OptionGroup var options: WorkspaceOptions

    func run() async throws {
        print(AdminOutput.deletions(try await requesting(options) { try await $0.deletions() }), terminator: "")
    }
}

/// `roost admin applications`.
struct ApplicationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "applications",
        abstract: "Lists customers' applications, the newest first."
    )

    @OptionGroup var options: WorkspaceOptions

    func run() async throws {
        let applications = try await requesting(options) { auth in
            try await pages { cursor, _ in try await auth.applications(cursor: cursor) }
        }
        print(AdminOutput.applications(applications), terminator: "")
    }
}

/// `roost admin keys`.
struct SigningKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Shows the keys that access tokens are signed with; `roost keys rotate` changes them."
    )

    @OptionGroup var options: WorkspaceOptions

    func run() async throws {
        print(AdminOutput.keys(try await requesting(options) { try await $0.keys() }), terminator: "")
    }
}
