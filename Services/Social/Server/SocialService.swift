package import Configuration
package import Postgres
import PushAPI
package import ServiceHost
package import ServiceLifecycle
import Wire

/// Social: one feed, one inbox and one list of notifications over all networks, and posting to several at once.
package struct SocialService: SuiteService {
    package static let name = "social"
    package static let defaultPort = 8083
    package static let migrations = [
        Migration(name: "V0001_accounts", sql: PackageResources.V0001_accounts_sql),
        EventConsumer.migration("V0002_event_inbox"),
        Migration(name: "V0003_posts", sql: PackageResources.V0003_posts_sql),
        Migration(name: "V0004_live", sql: PackageResources.V0004_live_sql),
        Migration(name: "V0010_broadcasts", sql: PackageResources.V0010_broadcasts_sql),
        EventOutbox.migration("V0011_event_outbox"),
        Migration(name: "V0012_replies", sql: PackageResources.V0012_replies_sql),
        Migration(name: "V0013_sent", sql: PackageResources.V0013_sent_sql),
        Erasures.migration("V0040_erasures"),
        Migration(name: "V0080_fetched_media", sql: PackageResources.V0080_fetched_media_sql),
        Migration(name: "V0081_delivery_parts", sql: PackageResources.V0081_delivery_parts_sql),
        Migration(name: "V0082_presence", sql: PackageResources.V0082_presence_sql),
        Migration(name: "V0083_change_kinds", sql: PackageResources.V0083_change_kinds_sql),
        Migration(name: "V0084_official_communities", sql: PackageResources.V0084_official_communities_sql),
    ]
    package static let events: Set = [BroadcastLive.type, UserErased.type]
    package static let setAsideKinds: [SetAsideKind] = [.change, .watch, .scheduledPost, .delivery, .erasure]

    private let reader: RequestReader
    private let encryption: TokenEncryption
    private let linking: Linking
    private let authorizations: Authorizations
    private let reading: Reading
    private let writing: Writing
    private let media: PostMedia
    private let live: Live
    private let reencryption: Reencryption
    private let broadcasting: Broadcasting
    private let events: EventConsumer
    private let exports: Exports
    private let upkeep: [any Service]

    package init(resources: ServiceResources, configuration: ConfigReader) async throws {
        let settings = try SocialConfiguration(configuration)
        let connections = try OutsideConnections(trustedCA: settings.trustedCA)
        let roost = RoostConnector(
            photos: try resources.neighbours.client("photos"),
            conversations: try resources.neighbours.client("conversations")
        )
        let connectors = Connectors.make(settings.parts(connections, now: resources.now), roost: roost)
        let broadcasts = settings.rpanURL.map { url in
            let origins = Set([HTTPOrigin(url)].compactMap(\.self))
            return BroadcastSource(baseURL: url, http: OutsideHTTP(reach: .listed(origins), connections: connections))
        }
        try self.init(resources, settings, connectors, broadcasts: broadcasts, upkeep: [connections])
    }

    /// The service over connectors of any kind.
    init(
        _ resources: ServiceResources,
        _ settings: SocialConfiguration,
        _ connectors: Connectors,
        broadcasts source: BroadcastSource? = nil,
        upkeep: [any Service] = []
    ) throws {
        let (database, logger, now) = (resources.database, resources.logger, resources.now)
        let vault = Vault(sealer: try Sealer(keys: settings.encryptionKeys))
        let sources = Sources(database: database, vault: vault, connectors: connectors)
        let push = try settings.tellsPush ? PushClient(resources.neighbours.client("push")) : nil
        let recording = ChangeRecording(settings.live, push: push, resources)
        let renewals = Renewals(
            database: database,
            sources: sources,
            journal: recording.journal,
            logger: logger,
            now: now
        )
        let asking = Asking(
            deadline: settings.deadline,
            circuits: Circuits(now: now),
            renewals: renewals,
            now: now
        )
        let identities = Identities()
        encryption = try TokenEncryption(vault.sealer)
        let rules = AccountRules(hosts: settings.outsideHosts, encryption: encryption, now: now)
        reader = RequestReader(rules: rules, slots: settings.formSlots)
        live = Live(
            settings.live,
            recording,
            sources: sources,
            asking: asking,
            identities: identities,
            resources
        )
        linking = Linking(
            database: database,
            vault: vault,
            connectors: connectors,
            rules: rules,
            asking: asking,
            looking: live.looking,
            logger: logger,
            now: now
        )
        reading = Reading(
            sources: sources,
            asking: asking,
            cache: PageCache(),
            identities: identities,
            cursors: resources.cursors
        )
        reencryption = Reencryption([Vault.encrypted], database: database, sealer: vault.sealer, logger: logger)
        let media = PostMedia(
            database: database,
            cursors: resources.cursors,
            publicURL: resources.publicURL,
            quota: settings.quota,
            now: now
        )
        self.media = media
        writing = Writing(
            sources: sources,
            asking: asking,
            identities: identities,
            photos: try resources.neighbours.client("photos"),
            quota: settings.quota,
            media: media,
            resources
        )
        authorizations = Authorizations(
            database: database,
            vault: vault,
            linking: linking,
            redirectURLs: settings.redirectURLs,
            publicURL: resources.publicURL,
            now: now
        )
        broadcasting = try Broadcasting(resources, source: source, sources: sources, asking: asking)
        exports = Exports(OwnExport(database: database).write)
        let erasures = Erasures(
            of: Self.name,
            database: database,
            events: resources.events,
            setAside: resources.setAside,
            logger: logger,
            now: now,
            eraseApplication: ApplicationRows(PeopleNews.tables, database: database).erase
        )
        events = PeopleNews(erasures: erasures, now: now)
            .heard(by: EventConsumer(database: database, logger: logger, now: now))
        self.upkeep =
            upkeep + live.upkeep + writing.upkeep + [
                events.background,
                erasures.background,
                reencryption.background,
                Periodic("sweep of authorizations", every: .seconds(60), logger: logger, authorizations.sweep),
            ] + broadcasting.background
    }

    package func addRoutes(to routes: SuiteRoutes) {
        NetworkRoutes(linking: linking, authorizations: authorizations, encryption: encryption).add(to: routes)
        FeedRoutes(reader: reader, reading: reading, writing: writing).add(to: routes)
        PostRoutes(reader: reader, writing: writing).add(to: routes)
        PostMediaRoutes(media: media).add(to: routes)
        StreamRoutes(live: live).add(to: routes)
        WebhookRoutes(webhooks: live.webhooks).add(to: routes)
        NeighbourRoutes(reencryption: reencryption, communities: broadcasting.communities).add(to: routes)
        broadcasting.add(to: routes)
        events.add(to: routes)
        exports.add(to: routes)
    }

    package var background: [any Service] { upkeep }
}
