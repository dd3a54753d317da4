import ConversationsAPI
import Postgres
import ServiceHost
import ServiceLifecycle

struct PeopleModule: Sendable {
    let profiles: Profiles
    let search: PeopleSearch
    let follows: Follows
    let blocks: Blocks
    let home: HomeFeed
    let maintenance: [any Service]

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
            mergeThreshold: settings.mergedFollowers
        )
        let blocks = Blocks(follows: follows)
        self.blocks = blocks
        maintenance = try settings.hasConversations ? [Self.blockBackfill(resources, blocks)] : []
        home = HomeFeed(
            database: database,
            people: people,
            links: links,
            cursors: cursors,
            mergeThreshold: settings.mergedFollowers
        )
    }

    private static func blockBackfill(_ resources: ServiceResources, _ blocks: Blocks) throws -> any Service {
        let conversations = BlocksClient(try resources.peers.client("conversations"))
        let blockBackfill = BlockBackfill(
            database: resources.database,
            blocks: blocks,
            conversations: conversations,
            logger: resources.logger
        )
        return PeriodicTask("block backfill", every: .seconds(5), logger: resources.logger, blockBackfill.read)
    }
}
