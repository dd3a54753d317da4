import ArgumentParser
import AuthAPI
import Wire

/// `roost admin`: who may administer the suite.
struct AdminCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin",
        abstract: "Says who may administer the suite.",
        subcommands: [GrantCommand.self, RevokeCommand.self, ListCommand.self]
    )

    /// `roost admin grant`.
    struct GrantCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "grant",
            abstract: "Lets an account administer the suite, from its next sign-in or refresh on."
        )

        @Argument(help: "The account's username, or its verified e-mail address.") var username: String
        @OptionGroup var options: WorkspaceOptions

        func run() async throws {
            let administrator = try await asking(options) { try await $0.grantAdministration(to: username) }
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

        func run() async throws {
            _ = try await asking(options) { try await $0.revokeAdministration(of: username) }
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
            for administrator in try await asking(options, { try await $0.administrators() }) {
                print("\(administrator.userId)  \(administrator.username ?? "")")
            }
        }
    }
}

/// What auth answers; what it refuses is told in its words.
private func asking<Answer>(
    _ options: WorkspaceOptions,
    _ question: (AuthClient) async throws -> Answer
) async throws -> Answer {
    do {
        return try await question(try AuthClient.ofOperator(options))
    } catch let error as APIError {
        throw Workspace.Problem(error.message)
    }
}
