import ArgumentParser
import AuthAPI
import Wire

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

    struct GrantCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "grant",
            abstract: "Makes an account an administrator, from its next sign-in or token refresh."
        )

        @Argument(help: "The account's username, or its verified e-mail address.") var username: String
        @OptionGroup var options: WorkspaceOptions

        func validate() throws { try AccountOptions.check(username) }

        func run() async throws {
            let administrator = try await requesting(options) { try await $0.grantAdministration(to: username) }
            print("\(administrator.username ?? administrator.userId) may administer the suite")
            print("tokens contain the permission from the next sign-in or refresh")
        }
    }

    struct RevokeCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "revoke",
            abstract: "Removes an account from the administrators and signs it out everywhere."
        )

        @Argument(help: "The account's username, or its verified e-mail address.") var username: String
        @OptionGroup var options: WorkspaceOptions

        func validate() throws { try AccountOptions.check(username) }

        func run() async throws {
            _ = try await requesting(options) { try await $0.revokeAdministration(of: username) }
            print("\(username) no longer administers the suite and is signed out")
        }
    }

    struct ListCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Lists the administrators."
        )

        @OptionGroup var options: WorkspaceOptions

        func run() async throws {
            for administrator in try await requesting(options, { try await $0.administrators() }) {
                print("\(administrator.userId)  \(administrator.username ?? "")")
            }
        }
    }
}

/// Returns up to `limit` items of a paged list.
func pages<Item>(
    upTo limit: Int = .max,
    _ next: (_ cursor: String?, _ limit: Int) async throws -> Page<Item>
) async throws -> [Item] {
    var (all, cursor): ([Item], String?) = ([], nil)
    repeat {
        let page = try await next(cursor, min(100, limit - all.count))
        all += page.items
        cursor = page.next
    } while cursor != nil && all.count < limit
    return all
}

func requesting<Response>(
    _ options: WorkspaceOptions,
    _ call: (AuthClient) async throws -> Response
) async throws -> Response {
    try await reportingErrors { try await call(AuthClient.ofOperator(options)) }
}
