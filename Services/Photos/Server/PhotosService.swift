import AuthAPI
package import Configuration
import PhotosAPI
package import Postgres
import PushAPI
package import ServiceHost
package import ServiceLifecycle
import Wire

/// Photos: who posts what, who follows whom, and what each gets to see.
package struct PhotosService: SuiteService {
    package static let name = "photos"
    package static let defaultPort = 8084
    package static let migrations = [
        Migration(name: "V0001_people", sql: PackageResources.V0001_people_sql),
        Migration(name: "V0002_posts", sql: PackageResources.V0002_posts_sql),
        Migration(name: "V0003_follows", sql: PackageResources.V0003_follows_sql),
        Migration(name: "V0004_uploads", sql: PackageResources.V0004_uploads_sql),
        EventConsumer.migration("V0005_event_inbox"),
        Migration(name: "V0006_changes", sql: PackageResources.V0006_changes_sql),
        Migration(name: "V0007_news", sql: PackageResources.V0007_news_sql),
        Migration(name: "V0008_departures", sql: PackageResources.V0008_departures_sql),
        Migration(name: "V0009_blocks_from_before", sql: PackageResources.V0009_blocks_from_before_sql),
        Migration(name: "V0010_post_orders", sql: PackageResources.V0010_post_orders_sql),
        Migration(name: "V0011_pictures_to_bring", sql: PackageResources.V0011_pictures_to_bring_sql),
        EventOutbox.migration("V0040_event_outbox"),
        Erasures.migration("V0041_erasures"),
        Migration(name: "V0065_storage_quota", sql: PackageResources.V0065_storage_quota_sql),
        Migration(name: "V0086_publish_profiles", sql: PackageResources.V0086_publish_profiles_sql),
        Migration(name: "V0090_comment_changes", sql: PackageResources.V0090_comment_changes_sql),
    ]
    package static let events: Set = [UserErased.type, NotificationRecalled.type, ProfileChanged.type]
    package static let setAsideKinds: [SetAsideKind] = [.news, .deletedPost, .departure, .erasure]

    /// Every read finds its rows by the beginning of an index, whatever the values: a plan made once is as good as one
    /// made each time, and one that reads tables through, good while they are small, must not be kept while they grow.
    package static let readSettings = [
        "plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "enable_hashjoin": "off",
        "enable_mergejoin": "off", "jit": "off",
    ]

    private let posts: PostRoutes
    private let orders: PostOrders
    private let replies: ReplyRoutes
    private let flags: FlagRoutes
    private let images: ImageStock
    private let live: Live
    private let circle: Circle
    private let events: EventConsumer
    private let exports: Exports
    private let upkeep: [any Service]

    package init(resources: ServiceResources, configuration: ConfigReader) async throws {
        let settings = try PhotosConfiguration(configuration)
        let (database, cursors, logger) = (resources.database, resources.cursors, resources.logger)
        let links = MediaLinks(publicURL: resources.publicURL)
        let people = People(database: database, auth: AuthClient(try resources.neighbours.client("auth")))
        let recall = NewsRecall(events: resources.events)
        let own = Posts(database: database, people: people, links: links, mask: settings.mask, recall: recall)
        orders = PostOrders(database: database, posts: own, now: resources.now)
        posts = PostRoutes(
            posts: own,
            lists: PostLists(database: database, people: people, links: links, cursors: cursors)
        )
        replies = ReplyRoutes(
            comments: Comments(
                database: database,
                people: people,
                links: links,
                mask: settings.mask,
                recall: recall,
                cursors: cursors
            ),
            likes: Likes(database: database, people: people, links: links, cursors: cursors)
        )
        flags = FlagRoutes(flags: Flags(database: database, people: people, links: links, cursors: cursors))
        images = try ImageStock(settings, configuration, people: people, links: links, resources)
        let push = try configuration.text("PUSH_URL").map { _ in PushClient(try resources.neighbours.client("push")) }
        live = try await Live(LiveConfiguration(configuration), people: people, links: links, push: push, resources)
        circle = try Circle(resources, settings, people: people, links: links)
        let departures = Departures(
            database: database,
            links: links,
            follows: circle.follows,
            setAside: resources.setAside,
            now: resources.now
        )
        let outside = try OutsideConnections(trustedCA: settings.trustedCA)
        let pictures = BroughtPictures(
            database: database,
            profiles: circle.profiles,
            uploads: images.uploads,
            source: PictureSource(connections: outside, hosts: settings.outsideHosts),
            logger: logger
        )
        exports = Exports(OwnExport(database: database, blobs: images.media.blobs).write)
        let erasures = Erasures(
            of: Self.name,
            database: database,
            events: resources.events,
            setAside: resources.setAside,
            logger: logger,
            now: resources.now,
            isGone: departures.isGone,
            eraseApplication: departures.erase
        )
        events = PeopleNews(
            people: people,
            blocks: circle.blocks,
            departures: departures,
            pictures: pictures,
            erasures: erasures
        )
        .heard(by: EventConsumer(database: database, logger: logger, now: resources.now))
        let clearing = PostClearing(setAside: resources.setAside, now: resources.now)
        upkeep =
            [
                events.background, outside,
                erasures.background,
                Periodic("bringing of pictures", every: .seconds(2), logger: logger, pictures.bring),
                Periodic("clearing of deleted posts", every: .seconds(1), logger: logger, clearing.clear),
                Periodic("sweep of orders", every: .seconds(3_600), logger: logger, orders.sweep),
                Periodic("departure of deleted people", every: .seconds(1), logger: logger, departures.clear),
            ] + circle.upkeep + images.upkeep + live.upkeep
    }

    package func addRoutes(to routes: SuiteRoutes) {
        // First, since it sees what the others' requests do.
        StreamRoutes(live: live).add(to: routes)
        posts.add(to: routes)
        OrderRoutes(orders: orders, uploads: images.uploads).add(to: routes)
        replies.add(to: routes)
        flags.add(to: routes)
        PeopleRoutes(profiles: circle.profiles, search: circle.search, follows: circle.follows).add(to: routes)
        HomeRoutes(home: circle.home).add(to: routes)
        UploadRoutes(uploads: images.uploads).add(to: routes)
        MediaRoutes(media: images.media).add(to: routes)
        events.add(to: routes)
        exports.add(to: routes)
    }

    package var background: [any Service] { upkeep }

    package var shortcut: (any Shortcut)? { MediaShortcut(media: images.media) }
}
