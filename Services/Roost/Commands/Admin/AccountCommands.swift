import ArgumentParser
import AuthAPI
import Wire

/// The account that a command is about.
struct AccountOptions: ParsableArguments {
    @Argument(help: "The account's id, its username, or its verified e-mail address.") var account: String
    @OptionGroup var workspace: WorkspaceOptions

    func validate() throws { try AccountOptions.check(account) }

    /// - Throws: `ValidationError` for a name that no account has.
    static func check(_ name: String) throws {
        guard name.contains(where: { !$0.isWhitespace }) else {
            throw ValidationError("the account's name must not be empty")
        }
    }
}

/// `roost admin users`.
struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users",
        abstract: "Lists accounts by the names that one signs in to them by."
    )

    @Argument(help: "How the names begin; all without it.") var prefix = ""
    @Option(help: "How many are shown, in the order of their names.") var limit = 100
    @OptionGroup var options: WorkspaceOptions

    func run() async throws {
        let found = try await requesting(options) { auth in
            try await pages(upTo: limit) { try await auth.accounts(named: prefix, after: $0, limit: $1) }
        }
        print(AdminOutput.accounts(found), terminator: "")
    }

    func validate() throws {
        guard 1...10_000 ~= limit else { throw ValidationError("--limit is from 1 to 10000") }
    }
}

/// `roost admin user`.
struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "user", abstract: "Shows one account.")

    @OptionGroup var options: AccountOptions

    func run() async throws {
        let account = try await requesting(options.workspace) { try await $0.account(options.account) }
        print(AdminOutput.account(account), terminator: "")
    }
}

/// `roost admin disable`.
struct DisableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Signs an account out everywhere and lets nobody sign in to it."
    )

    @OptionGroup var options: AccountOptions

    func run() async throws {
        _ = try await requesting(options.workspace) { try await $0.disable(options.account) }
        print("\(options.account) is disabled and signed out")
    }
}

/// `roost admin enable`.
struct EnableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Lets an account that was disabled be signed in to again."
    )

    @OptionGroup var options: AccountOptions

    func run() async throws {
        _ = try await requesting(options.workspace) { try await $0.enable(options.account) }
        print("\(options.account) may be signed in to")
    }
}

/// `roost admin delete`.
struct DeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Deletes an account and all that is kept of its owner.",
        discussion: "As if its owner had done so: there is no way back. `roost admin deletions` says how far it is."
    )

    @Flag(help: "Do it; without this it is only said what would be deleted.") var yes = false
    @OptionGroup var options: AccountOptions

    func run() async throws {
        let account = try await requesting(options.workspace) { try await $0.account(options.account) }
        print(AdminOutput.account(account), terminator: "")
        guard yes else {
            print("nothing was deleted; say --yes to delete this account")
            throw ExitCode.failure
        }
        _ = try await requesting(options.workspace) { try await $0.deleteAccount(account.userId) }
        print("the account is deleted; the services wipe what they keep of its owner")
    }
}

/// `roost admin sessions`.
struct SessionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions",
        abstract: "Shows where an account is signed in, or ends that."
    )

    @Option(help: "Ends the session of this id.") var end: String?
    @Flag(help: "Ends all of them.") var endAll = false
    @OptionGroup var options: AccountOptions

    func run() async throws {
        guard end != nil || endAll else {
            let sessions = try await requesting(options.workspace) { try await $0.sessions(of: options.account) }
            return print(AdminOutput.sessions(sessions), terminator: "")
        }
        _ = try await requesting(options.workspace) { try await $0.endSessions(of: options.account, session: end) }
        print(end == nil ? "\(options.account) is signed out everywhere" : "the session is ended")
    }

    func validate() throws {
        guard end == nil || !endAll else { throw ValidationError("--end and --end-all exclude each other") }
    }
}
