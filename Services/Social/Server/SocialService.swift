package import Configuration
package import Postgres
import PushAPI
package import ServiceHost
package import ServiceLifecycle
import Wire

/// The social service: feed, messages and notifications of all networks in one list each, and posting to several.
package struct SocialService: SuiteService {
    package static let name = "social"
    package static let defaultPort = 8083
    package static let migrations = [
        Migration(name: "V0001_create_social", sql: PackageResources.V0001_create_social_sql),
        EventOutbox.migration("V0002_create_event_outbox"),
        EventConsumer.migration("V0003_create_event_inbox"),
        DeletionConfirmations.migration("V0004_create_unconfirmed_deletions"),
    ]
    package static let events: Set = [BroadcastLive.type, UserDeletionCompleted.type]
    package static let setAsideKinds: [SetAsideKind] = [
        .change, .polledList, .scheduledPost, .publication, .unconfirmedDeletion,
    ]

    private let reader: RequestReader
    private let encryption: TokenEncryption
    private let linking: Linking
    private let authorizations: Authorizations
    private let reading: FeedReader
    private let postService: PostService
    private let media: PostMedia
    private let realtime: RealtimeModule
    private let reencryption: Reencryption
    private let broadcastModule: BroadcastModule
    private let events: EventConsumer
    private let exports: Exports
    private let maintenance: [any Service]

    package init(resources: ServiceResources, configuration: ConfigReader) async throws {
        let settings = try SocialConfiguration(configuration)
        let connections = try OutboundConnections(trustedCA: settings.trustedCA)
        let roost = RoostConnector(
            photos: try resources.peers.client("photos"),
            conversations: try resources.peers.client("conversations")
        )
        let connectors = Connectors.make(settings.parts(connections, now: resources.now), roost: roost)
        let broadcasts = settings.rpanURL.map { url in
            let origins = Set([HTTPOrigin(url)].compactMap(\.self))
            return BroadcastSource(baseURL: url, http: OutsideHTTP(reach: .listed(origins), connections: connections))
        }
        try self.init(resources, settings, connectors, broadcasts: broadcasts, maintenance: [connections])
    }

    init(
        _ resources: ServiceResources,
        _ settings: SocialConfiguration,
        _ connectors: Connectors,
        broadcasts source: BroadcastSource? = nil,
        maintenance: [any Service] = []
    ) throws {
        let (database, logger, now) = (resources.database, resources.logger, resources.now)
        let tokenCipher = TokenCipher(encryptor: try TokenEncryptor(keys: settings.encryptionKeys))
        let sources = Sources(database: database, tokenCipher: tokenCipher, connectors: connectors)
        let push = try settings.notifiesPush ? PushClient(resources.peers.client("push")) : nil
        let recording = ChangeRecording(settings.realtime, push: push, resources)
        let renewals = Renewals(
            database: database,
            sources: sources,
            changeLog: recording.changeLog,
            logger: logger,
            now: now
        )
        let networkGateway = NetworkGateway(
            deadline: settings.deadline,
            circuitBreakers: CircuitBreakers(now: now),
            renewals: renewals,
            now: now
        )
        let identities = Identities()
        encryption = try TokenEncryption(tokenCipher.encryptor)
        let rules = AccountRules(hosts: settings.outsideHosts, encryption: encryption, now: now)
        reader = RequestReader(rules: rules, slots: settings.formSlots)
        realtime = RealtimeModule(
            settings.realtime,
            recording,
            sources: sources,
            networkGateway: networkGateway,
            identities: identities,
            resources
        )
        linking = Linking(
            database: database,
            tokenCipher: tokenCipher,
            connectors: connectors,
            rules: rules,
            networkGateway: networkGateway,
            poller: realtime.poller,
            logger: logger,
            now: now
        )
        reading = FeedReader(
            sources: sources,
            networkGateway: networkGateway,
            cache: PageCache(),
            identities: identities,
            cursors: resources.cursors
        )
        reencryption = Reencryption(
            [TokenCipher.encrypted],
            database: database,
            encryptor: tokenCipher.encryptor,
            logger: logger
        )
        let media = PostMedia(
            database: database,
            cursors: resources.cursors,
            publicURL: resources.publicURL,
            quota: settings.quota,
            now: now
        )
        self.media = media
        postService = PostService(
            sources: sources,
            networkGateway: networkGateway,
            identities: identities,
            photos: try resources.peers.client("photos"),
            quota: settings.quota,
            media: media,
            resources
        )
        authorizations = Authorizations(
            database: database,
            tokenCipher: tokenCipher,
            linking: linking,
            redirectURLs: settings.redirectURLs,
            publicURL: resources.publicURL,
            now: now
        )
        broadcastModule = try BroadcastModule(
            resources,
            source: source,
            sources: sources,
            networkGateway: networkGateway
        )
        exports = Exports(UserDataExport(database: database).write)
        let deletionConfirmations = DeletionConfirmations(
            of: Self.name,
            database: database,
            events: resources.events,
            setAside: resources.setAside,
            logger: logger,
            now: now,
            deleteApplicationData: ApplicationRowDeletion(UserEventHandlers.tables, database: database).erase
        )
        events = UserEventHandlers(deletionConfirmations: deletionConfirmations, now: now)
            .register(on: EventConsumer(database: database, logger: logger, now: now))
        self.maintenance =
            maintenance + realtime.maintenance + postService.maintenance + [
                events.background,
                deletionConfirmations.background,
                reencryption.background,
                PeriodicTask("sweep of authorizations", every: .seconds(60), logger: logger, authorizations.sweep),
            ] + broadcastModule.background
    }

    package func addRoutes(to routes: SuiteRoutes) {
        NetworkRoutes(linking: linking, authorizations: authorizations, encryption: encryption).add(to: routes)
        FeedRoutes(reader: reader, reading: reading, postService: postService).add(to: routes)
        PostRoutes(reader: reader, postService: postService).add(to: routes)
        PostMediaRoutes(media: media).add(to: routes)
        StreamRoutes(realtime: realtime).add(to: routes)
        WebhookRoutes(webhooks: realtime.webhooks).add(to: routes)
        InternalRoutes(reencryption: reencryption, communities: broadcastModule.communities).add(to: routes)
        broadcastModule.add(to: routes)
        events.add(to: routes)
        exports.add(to: routes)
    }

    package var background: [any Service] { maintenance }
}
