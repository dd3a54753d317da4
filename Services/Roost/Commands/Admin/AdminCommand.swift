import ArgumentParser
import AuthAPI
import Wire

/// `roost admin`: who may administer the suite, whose accounts there are, and what happened to them.
struct AdminCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin",
        abstract: "Manages accounts, administrators, applications, and rows that services have set aside.",
        subcommands: [
            GrantCommand.self, RevokeCommand.self, ListCommand.self, UsersCommand.self, UserCommand.self,
            SessionsCommand.self, DisableCommand.self, EnableCommand.self, DeleteCommand.self, AuditCommand.self,
            DeletionsCommand.self, ApplicationsCommand.self, SigningKeysCommand.self, SetAsideCommand.self,
            CommunitiesCommand.self,
        ]
    )

    /// `roost admin grant`.
    struct GrantCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "grant",
            abstract: "Lets an account administer the suite, from its next sign-in or refresh on."
        )

        @Argument(help: "The account's username, or its verified e-mail address.") var username: String
        @OptionGroup var options: WorkspaceOptions

        func validate() throws { try AccountOptions.check(username) }

        func run() async throws {
            let administrator = try await requesting(options) { try await $0.grantAdministration(to: username) }
            print("\(administrator.username ?? administrator.userId) may administer the suite")
            print("tokens say so from the next sign-in or refresh on")
        }
    }

    /// `roost admin revoke`.
    struct RevokeCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "revoke",
            abstract: "Takes it back, and signs the account out everywhere."
        )

        @Argument(help: "The account's username, or its verified e-mail address.") var username: String
        @OptionGroup var options: WorkspaceOptions

        func validate() throws { try AccountOptions.check(username) }

        func run() async throws {
            _ = try await requesting(options) { try await $0.revokeAdministration(of: username) }
            print("\(username) no longer administers the suite and is signed out")
        }
    }

    /// `roost admin list`.
    struct ListCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Lists the accounts that may administer the suite."
        )

        @OptionGroup var options: WorkspaceOptions

        func run() async throws {
            for administrator in try await requesting(options, { try await $0.administrators() }) {
                print("\(administrator.userId)  \(administrator.username ?? "")")
            }
        }
    }
}

/// The things of a list that comes in pages, at most so many.
func pages<Thing>(
    upTo limit: Int = .max,
    _ next: (_ cursor: String?, _ limit: Int) async throws -> Page<Thing>
) async throws -> [Thing] {
    var (all, cursor): ([Thing], String?) = ([], nil)
    repeat {
        let page = try await next(cursor, min(100, limit - all.count))
        all += page.items
        cursor = page.next
    } while cursor != nil && all.count < limit
    return all
}

/// Calls auth.
func requesting<Response>(
    _ options: WorkspaceOptions,
    _ call: (AuthClient) async throws -> Response
) async throws -> Response {
    try await reportingErrors { try await call(AuthClient.ofOperator(options)) }
}
