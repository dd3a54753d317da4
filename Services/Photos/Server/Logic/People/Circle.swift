import ConversationsAPI
import Postgres
import ServiceHost
import ServiceLifecycle

/// People, whom they follow, and what they get to see of them: what is made together of the same few things.
struct Circle: Sendable {
    let profiles: Profiles
    let search: PeopleSearch
    let follows: Follows
    let blocks: Blocks
    let home: HomeFeed
    let upkeep: [any Service]

    init(_ resources: ServiceResources, _ settings: PhotosConfiguration, people: People, links: MediaLinks) throws {
        let (database, cursors) = (resources.database, resources.cursors)
        profiles = Profiles(database: database, people: people, links: links, events: resources.events)
        search = PeopleSearch(database: database, people: people, links: links)
        follows = Follows(
            database: database,
            people: people,
            links: links,
            cursors: cursors,
            maximum: settings.maximumFollowsOfUser,
            popular: settings.mergedFollowers
        )
        let blocks = Blocks(follows: follows)
        self.blocks = blocks
        upkeep = try settings.hasConversations ? [Self.survey(resources, blocks)] : []
        home = HomeFeed(
            database: database,
            people: people,
            links: links,
            cursors: cursors,
            popular: settings.mergedFollowers
        )
    }

    private static func survey(_ resources: ServiceResources, _ blocks: Blocks) throws -> any Service {
        let conversations = BlocksClient(try resources.neighbours.client("conversations"))
        let survey = BlockSurvey(
            database: resources.database,
            blocks: blocks,
            conversations: conversations,
            logger: resources.logger
        )
        return Periodic("blocks from before", every: .seconds(5), logger: resources.logger, survey.read)
    }
}
