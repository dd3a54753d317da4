import Postgres
import ServiceHost

/// People, whom they follow, and what they get to see of them: what is made together of the same few things.
struct Circle: Sendable {
    let profiles: Profiles
    let search: PeopleSearch
    let follows: Follows
    let blocks: Blocks
    let home: HomeFeed

    init(_ resources: ServiceResources, _ settings: PhotosConfiguration, people: People, links: MediaLinks) {
        let (database, cursors) = (resources.database, resources.cursors)
        profiles = Profiles(database: database, people: people, links: links)
        search = PeopleSearch(database: database, people: people, links: links)
        follows = Follows(
            database: database,
            people: people,
            links: links,
            cursors: cursors,
            maximum: settings.maximumFollowsOfUser,
            popular: settings.mergedFollowers
        )
        blocks = Blocks(follows: follows)
        home = HomeFeed(
            database: database,
            people: people,
            links: links,
            cursors: cursors,
            popular: settings.mergedFollowers
        )
    }
}
