import AuthAPI
package import Configuration
import ConversationsAPI
import Credentials
import EventBus
package import Postgres
import PushAPI
package import ServiceHost
package import ServiceLifecycle
import SocketIO
import Wire

/// The conversations service: membership, messages, read marks, files, search and live delivery.
package struct ConversationsService: SuiteService {
    package static let name = "conversations"
    package static let defaultPort = 8082
    package static let migrations = [
        Migration(name: "V0001_create_conversations", sql: PackageResources.V0001_create_conversations_sql),
        EventOutbox.migration("V0002_create_event_outbox"),
        EventConsumer.migration("V0003_create_event_inbox"),
        DeletionConfirmations.migration("V0004_create_unconfirmed_deletions"),
    ]

    package static let events: Set = [
        DeviceRegistered.type, DeviceBadge.type, UserBlocked.type, UserUnblocked.type, UserDeletionCompleted.type,
        NotificationRecalled.type,
    ]
    package static let setAsideKinds: [SetAsideKind] = [
        .message, .pushOutbox, .conversationDeletion, .deletionJob, .unconfirmedDeletion, .searchedMessage,
    ]

    /// Every read selects its rows by complete keys, so a generic plan is as good as a custom plan for any values.
    ///
    /// Planning takes longer than reading twenty messages.
    package static let readSettings = ["plan_cache_mode": "force_generic_plan", "jit": "off"]

    let conversations: Conversations
    let messages: Messages
    let blocks: Blocks
    private let search: Search
    let files: Files
    private let eventConsumer: EventConsumer
    private let exports: Exports
    private let sockets: SocketIOServer
    private let backgroundServices: [any Service]

    package init(resources: ServiceResources, configuration: ConfigReader) async throws {
        try await self.init(resources, configuration, ConversationsConfiguration(configuration))
    }

    init(
        _ resources: ServiceResources,
        _ configuration: ConfigReader,
        _ settings: ConversationsConfiguration
    ) async throws {
        let auth = AuthClient(try resources.peers.client("auth"))
        let users = KnownUsers(auth: auth)
        blocks = Blocks(
            database: resources.database,
            users: users,
            cursors: resources.cursors,
            events: resources.events
        )
        let links = FileLinks(signer: resources.links, publicURL: resources.publicURL, now: resources.now)
        let profiles = MemberProfiles(
            database: resources.database,
            auth: auth,
            publicURL: resources.publicURL,
            logger: resources.logger
        )
        sockets = SocketIOServer(settings)
        let namespace = sockets.namespace("/")
        let delivery = Delivery(
            database: resources.database,
            bus: try await settings.bus(over: resources.database, logger: resources.logger),
            rooms: SocketRooms(namespace: namespace),
            links: links,
            profiles: profiles,
            setAside: resources.setAside,
            logger: resources.logger,
            hasEnded: resources.credentials.hasEnded
        )
        resources.credentials.onRevocation { [weak delivery] in delivery?.end(session: $0) }
        conversations = Conversations(
            database: resources.database,
            users: users,
            cursors: resources.cursors,
            links: links,
            profiles: profiles,
            events: resources.events,
            maximumMembers: settings.maximumMembers,
            changeNotifier: delivery.changeNotifier
        )
        let recalledBy = resources.events.subscribers(of: NotificationRecalled.self)
        let push = try configuration.text("PUSH_URL").map { _ in
            PushOutbox(
                database: resources.database,
                push: PushClient(try resources.peers.client("push")),
                names: SenderNames(auth: auth, logger: resources.logger),
                setAside: resources.setAside,
                recalledBy: recalledBy,
                logger: resources.logger
            )
        }
        let index = SearchIndex(
            database: resources.database,
            rest: settings.searchReindexInterval,
            setAside: resources.setAside,
            logger: resources.logger,
            now: resources.now
        )
        search = Search(database: resources.database, cursors: resources.cursors)
        messages = Messages(
            database: resources.database,
            writeShards: WriteShards(
                database: resources.database,
                configuration: settings,
                recalledBy: recalledBy,
                logger: resources.logger,
                written: { [changeNotifier = delivery.changeNotifier] batch in
                    index.didWrite(batch)
                    changeNotifier.didWrite(batch)
                    push?.didWrite(batch)
                }
            ),
            links: links
        )
        files = Files(
            database: resources.database,
            blobs: try configuration.blobs(of: Self.name),
            messages: messages,
            links: links,
            slots: UploadConcurrencyLimit(capacity: settings.maximumUploads, ofUser: settings.maximumUploadsOfUser),
            limit: Int64(settings.fileLimit),
            quota: try StorageQuota(configuration),
            logger: resources.logger
        )
        let devices = Devices(database: resources.database, events: resources.events, now: resources.now)
        let outbox = OutboxPruner(
            database: resources.database,
            retention: settings.outboxRetention,
            pushRetention: push == nil ? nil : settings.pushRetention,
            logger: resources.logger,
            now: resources.now
        )
        let userDeletions = UserDeletions(
            database: resources.database,
            setAside: resources.setAside,
            now: resources.now,
            changeNotifier: delivery.changeNotifier
        )
        exports = Exports(UserDataExport(database: resources.database, blobs: files.blobs).write)
        let deletionConfirmations = DeletionConfirmations(
            of: Self.name,
            database: resources.database,
            events: resources.events,
            setAside: resources.setAside,
            logger: resources.logger,
            now: resources.now,
            isGone: userDeletions.isGone,
            deleteApplicationData: userDeletions.erase
        )
        let consumer = EventConsumer(database: resources.database, logger: resources.logger, now: resources.now)
        eventConsumer = MemberProfiles.handlingEvents(of: consumer)
            .on(DeviceChanged.self, from: [.push]) { changed, event, db in
                try await devices.accept(changed, at: event.at, in: db)
            }
            .on(UserDeleted.self, from: [.auth]) { deleted, event, db in
                try await userDeletions.begin(deleted, event, in: db)
                try await deletionConfirmations.begin(deleted.user, deleted.deletionJob, at: event.at, in: db)
            }
            .on(ApplicationDeleted.self, from: [.auth]) { deleted, event, db in
                try await deletionConfirmations.begin(
                    application: deleted.applicationId,
                    deleted.deletionJob,
                    at: event.at,
                    in: db
                )
            }
        let autoAnalyze = AutoAnalyze(database: resources.database)
        let conversationDeletions = ConversationDeletions(setAside: resources.setAside, now: resources.now)
        backgroundServices =
            [
                PeriodicTask("outbox pruning", every: .seconds(10), logger: resources.logger, outbox.prune),
                PeriodicTask("file cleanup", every: .seconds(2), logger: resources.logger, files.sweep),
                PeriodicTask(
                    "table analysis",
                    every: .milliseconds(500),
                    logger: resources.logger,
                    autoAnalyze.run
                ),
                PeriodicTask(
                    "removal of deleted conversations",
                    every: .seconds(1),
                    logger: resources.logger,
                    conversationDeletions.processPending
                ),
                PeriodicTask(
                    "removal of deleted users",
                    every: .seconds(1),
                    logger: resources.logger,
                    userDeletions.processPending
                ),
                PeriodicTask(
                    "message indexing",
                    every: .milliseconds(250),
                    logger: resources.logger,
                    index.indexPending
                ),
                eventConsumer.background,
                deletionConfirmations.background,
                delivery,
            ] + delivery.backgroundServices + (push?.backgroundServices ?? [])
        let authenticator = SocketAuthenticator(
            verifier: resources.credentials,
            devices: devices,
            slots: SocketLimit(ofUser: settings.maximumSocketsOfUser),
            delivery: delivery,
            payloadLimit: settings.socketPayload,
            now: resources.now
        )
        socketEventRouter(authenticator, settings, resources.logger).serve(namespace)
    }

    package func addRoutes(to routes: SuiteRoutes) {
        ConversationRoutes(conversations: conversations).add(to: routes)
        MemberRoutes(members: Members(conversations: conversations)).add(to: routes)
        MessageRoutes(messages: messages, files: files).add(to: routes)
        AmendmentRoutes(messages: messages).add(to: routes)
        BlockRoutes(blocks: blocks).add(to: routes)
        SearchRoutes(search: search).add(to: routes)
        FileRoutes(files: files).add(to: routes)
        eventConsumer.add(to: routes)
        exports.add(to: routes)
    }

    package var background: [any Service] { backgroundServices }

    package var gate: ConnectionGate? { sockets.gate }
}
