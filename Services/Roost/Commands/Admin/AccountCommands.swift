import ArgumentParser
import AuthAPI
import Wire

struct AccountOptions: ParsableArguments {
    @Argument(help: "The account's id, its username, or its verified e-mail address.") var account: String
    @OptionGroup var workspace: WorkspaceOptions

    func validate() throws { try AccountOptions.check(account) }

    /// Rejects a name that no account can have.
    ///
    /// - Throws: `ValidationError` when the name is blank.
    static func check(_ name: String) throws {
        guard name.contains(where: { !$0.isWhitespace }) else {
            throw ValidationError("the account's name must not be empty")
        }
    }
}

struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users",
        abstract: "Lists accounts in the order of their usernames."
    )

    @Argument(help: "A prefix of the usernames; all accounts by default.") var prefix = ""
    @Option(help: "The maximum number of accounts, 1 to 10000.") var limit = 100
    @OptionGroup var options: WorkspaceOptions

    func run() async throws {
        let found = try await requesting(options) { auth in
            try await pages(upTo: limit) { try await auth.accounts(named: prefix, after: $0, limit: $1) }
        }
        print(AdminOutput.accounts(found), terminator: "")
    }

    func validate() throws {
        guard 1...10_000 ~= limit else { throw ValidationError("--limit must be 1 to 10000") }
    }
}

struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "user", abstract: "Shows one account.")

    @OptionGroup var options: AccountOptions

    func run() async throws {
        let account = try await requesting(options.workspace) { try await $0.account(options.account) }
        print(AdminOutput.account(account), terminator: "")
    }
}

struct DisableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Signs an account out everywhere and blocks sign-in."
    )

    @OptionGroup var options: AccountOptions

    func run() async throws {
        _ = try await requesting(options.workspace) { try await $0.disable(options.account) }
        print("\(options.account) is disabled and signed out")
    }
}

struct EnableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Allows sign-in to a disabled account again."
    )

    @OptionGroup var options: AccountOptions

    func run() async throws {
        _ = try await requesting(options.workspace) { try await $0.enable(options.account) }
        print("\(options.account) is enabled")
    }
}

struct DeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Deletes an account and all data of its owner.",
        discussion: "Same as a deletion by the owner; not reversible. `roost admin deletions` shows the progress."
    )

    @Flag(help: "Deletes the account; without this flag it is only shown.") var yes = false
    @OptionGroup var options: AccountOptions

    func run() async throws {
        let account = try await requesting(options.workspace) { try await $0.account(options.account) }
        print(AdminOutput.account(account), terminator: "")
        guard yes else {
            print("nothing was deleted; use --yes to delete this account")
            throw ExitCode.failure
        }
        _ = try await requesting(options.workspace) { try await $0.deleteAccount(account.userId) }
        print("the account is deleted; the services are deleting the data of its owner")
    }
}

struct SessionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions",
        abstract: "Shows or ends the sessions of an account."
    )

    @Option(help: "Ends the session with this id.") var end: String?
    @Flag(help: "Ends all sessions.") var endAll = false
    @OptionGroup var options: AccountOptions

    func run() async throws {
        guard end != nil || endAll else {
            let sessions = try await requesting(options.workspace) { try await $0.sessions(of: options.account) }
            return print(AdminOutput.sessions(sessions), terminator: "")
        }
        _ = try await requesting(options.workspace) { try await $0.endSessions(of: options.account, session: end) }
        print(end == nil ? "\(options.account) is signed out everywhere" : "the session has ended")
    }

    func validate() throws {
        guard end == nil || !endAll else { throw ValidationError("--end and --end-all exclude each other") }
    }
}
