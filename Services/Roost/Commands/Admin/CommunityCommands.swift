import ArgumentParser
import ServiceClient
import SocialAPI

struct CommunitiesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "communities",
        abstract: "Lists the communities of broadcasts, and adds or removes official ones.",
        subcommands: [ListCommand.self, AddCommand.self, RemoveCommand.self],
        defaultSubcommand: ListCommand.self
    )

    struct ListCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Lists the communities of broadcasts."
        )

        @OptionGroup var options: WorkspaceOptions

        func run() async throws {
            let communities = try await CommunitiesCommand.requesting(options) { try await $0.operatorCommunities() }
            print(AdminOutput.communities(communities), terminator: "")
        }
    }

    struct AddCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add",
            abstract: "Adds a community to the list of official communities."
        )

        @Argument(help: "The community's name, without r/ before it.") var name: String
        @OptionGroup var options: WorkspaceOptions

        func run() async throws {
            let community = try await CommunitiesCommand.requesting(options) { try await $0.operatorAddCommunity(name) }
            print("\(community.name) is an official community")
        }
    }

    struct RemoveCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Removes a community from the list; later broadcasts do not add it again."
        )

        @Argument(help: "The community's name, without r/ before it.") var name: String
        @OptionGroup var options: WorkspaceOptions

        func run() async throws {
            try await CommunitiesCommand.requesting(options) { try await $0.operatorRemoveCommunity(name) }
            print("\(name) is no longer listed")
        }
    }

    fileprivate static func requesting<Response>(
        _ options: WorkspaceOptions,
        _ call: (SocialClient) async throws -> Response
    ) async throws -> Response {
        try await reportingErrors { try await call(SocialClient(.ofOperator("social", options))) }
    }
}
