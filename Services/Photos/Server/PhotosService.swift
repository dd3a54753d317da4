import AuthAPI
package import Configuration
import PhotosAPI
package import Postgres
import PushAPI
package import ServiceHost
package import ServiceLifecycle
import Wire

/// The photos service: posts, comments, likes, follows, profiles, feeds and image uploads.
package struct PhotosService: SuiteService {
    package static let name = "photos"
    package static let defaultPort = 8084
    package static let migrations = [
        Migration(name: "V0001_create_photos", sql: PackageResources.V0001_create_photos_sql),
        EventOutbox.migration("V0002_create_event_outbox"),
        EventConsumer.migration("V0003_create_event_inbox"),
        DeletionConfirmations.migration("V0004_create_unconfirmed_deletions"),
    ]
    package static let events: Set = [UserDeletionCompleted.type, NotificationRecalled.type, ProfileChanged.type]
    package static let setAsideKinds: [SetAsideKind] = [.activity, .deletedPost, .personDeletion, .unconfirmedDeletion]

    /// Every read starts at a prefix of an index, whatever the values, so a generic plan is as good as a custom one.
    ///
    /// Sequential scans are off because a plan that was cached while tables were small stays in use when they grow.
    package static let readSettings = [
        "plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "enable_hashjoin": "off",
        "enable_mergejoin": "off", "jit": "off",
    ]

    private let posts: PostRoutes
    private let delegatedPosts: DelegatedPosts
    private let commentRoutes: CommentRoutes
    private let flags: FlagRoutes
    private let images: ImagesModule
    private let liveUpdates: LiveUpdates
    private let peopleModule: PeopleModule
    private let events: EventConsumer
    private let exports: Exports
    private let maintenance: [any Service]

    package init(resources: ServiceResources, configuration: ConfigReader) async throws {
        try await self.init(resources, configuration, PhotosConfiguration(configuration))
    }

    init(_ resources: ServiceResources, _ configuration: ConfigReader, _ settings: PhotosConfiguration) async throws {
        let (database, cursors, logger) = (resources.database, resources.cursors, resources.logger)
        let links = MediaLinks(publicURL: resources.publicURL)
        let people = People(database: database, auth: AuthClient(try resources.peers.client("auth")))
        let recall = NotificationRecall(events: resources.events)
        let postRules = Posts(database: database, people: people, links: links, mask: settings.mask, recall: recall)
        delegatedPosts = DelegatedPosts(database: database, posts: postRules, now: resources.now)
        posts = PostRoutes(
            posts: postRules,
            lists: PostLists(database: database, people: people, links: links, cursors: cursors)
        )
        commentRoutes = CommentRoutes(
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
        images = try ImagesModule(settings, configuration, people: people, links: links, resources)
        let push = try configuration.text("PUSH_URL").map { _ in PushClient(try resources.peers.client("push")) }
        liveUpdates = try await LiveUpdates(
            settings.liveUpdates,
            people: people,
            links: links,
            push: push,
            resources
        )
        peopleModule = try PeopleModule(resources, settings, people: people, links: links)
        let personDeletions = PersonDeletions(
            database: database,
            links: links,
            follows: peopleModule.follows,
            setAside: resources.setAside,
            now: resources.now
        )
        let outboundConnections = try OutboundConnections(trustedCA: settings.trustedCA)
        let avatarImport = AvatarImport(
            database: database,
            profiles: peopleModule.profiles,
            uploads: images.uploads,
            source: AvatarDownloader(connections: outboundConnections, hosts: settings.outsideHosts),
            logger: logger
        )
        exports = Exports(PersonExport(database: database, blobs: images.media.blobs).write)
        let deletionConfirmations = DeletionConfirmations(
            of: Self.name,
            database: database,
            events: resources.events,
            setAside: resources.setAside,
            logger: logger,
            now: resources.now,
            isGone: personDeletions.isDeleted,
            deleteApplicationData: personDeletions.deleteApplicationData
        )
        events = UserEventHandlers(
            people: people,
            blocks: peopleModule.blocks,
            personDeletions: personDeletions,
            avatarImport: avatarImport,
            deletionConfirmations: deletionConfirmations
        )
        .register(on: EventConsumer(database: database, logger: logger, now: resources.now))
        let postCleanup = DeletedPostCleanup(setAside: resources.setAside, now: resources.now)
        maintenance =
            [
                events.background, outboundConnections,
                deletionConfirmations.background,
                PeriodicTask("avatar import", every: .seconds(2), logger: logger, avatarImport.runImports),
                PeriodicTask("cleanup of deleted posts", every: .seconds(1), logger: logger, postCleanup.clear),
                PeriodicTask(
                    "expiry of delegated post keys",
                    every: .seconds(3_600),
                    logger: logger,
                    delegatedPosts.deleteExpired
                ),
                PeriodicTask("deletion of users", every: .seconds(1), logger: logger, personDeletions.clear),
            ] + peopleModule.maintenance + images.maintenance + liveUpdates.maintenance
    }

    package func addRoutes(to routes: SuiteRoutes) {
        // Added first: the middleware of `StreamRoutes` sees only the requests of routes that are added after it.
        StreamRoutes(liveUpdates: liveUpdates).add(to: routes)
        posts.add(to: routes)
        DelegatedPostRoutes(delegatedPosts: delegatedPosts, uploads: images.uploads).add(to: routes)
        commentRoutes.add(to: routes)
        flags.add(to: routes)
        PeopleRoutes(profiles: peopleModule.profiles, search: peopleModule.search, follows: peopleModule.follows).add(
            to: routes
        )
        FeedRoutes(home: peopleModule.home).add(to: routes)
        UploadRoutes(uploads: images.uploads).add(to: routes)
        MediaRoutes(media: images.media).add(to: routes)
        events.add(to: routes)
        exports.add(to: routes)
    }

    package var background: [any Service] { maintenance }

    package var shortcut: (any Shortcut)? { MediaShortcut(media: images.media) }
}
