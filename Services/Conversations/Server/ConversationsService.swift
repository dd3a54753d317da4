import AuthAPI
package import Configuration
package import Postgres
package import ServiceHost
package import ServiceLifecycle

/// Conversations: who is in them, what is said, what was read.
package struct ConversationsService: SuiteService {
    package static let name = "conversations"
    package static let defaultPort = 8082
    package static let migrations = [
        Migration(name: "V0001_create_conversations", sql: PackageResources.V0001_create_conversations_sql),
        Migration(name: "V0002_amend_messages", sql: PackageResources.V0002_amend_messages_sql),
    ]

    /// Every read finds its rows by whole keys, whatever the values: a plan made once is as good as one made each time,
    /// and making it takes longer than reading twenty messages.
    package static let readSettings = ["plan_cache_mode": "force_generic_plan", "jit": "off"]

    private let conversations: Conversations
    private let messages: Messages
    private let upkeep: [any Service]

    package init(resources: ServiceResources, configuration: ConfigReader) async throws {
        let settings = try ConversationsConfiguration(configuration)
        conversations = Conversations(
            database: resources.database,
            users: KnownUsers(auth: AuthClient(try resources.neighbours.client("auth"))),
            cursors: resources.cursors,
            maximumMembers: settings.maximumMembers
        )
        messages = Messages(
            database: resources.database,
            lanes: WriteLanes(database: resources.database, configuration: settings, logger: resources.logger)
        )
        let outbox = Outbox(
            database: resources.database,
            retention: settings.outboxRetention,
            now: resources.now
        )
        let statistics = TableStatistics(database: resources.database)
        upkeep = [
            Periodic("pruning of the outbox", every: .seconds(10), logger: resources.logger, outbox.prune),
            Periodic("look at table statistics", every: .milliseconds(500), logger: resources.logger, statistics.keep),
        ]
    }

    package func addRoutes(to routes: SuiteRoutes) {
        ConversationRoutes(conversations: conversations).add(to: routes)
        MemberRoutes(members: Members(conversations: conversations)).add(to: routes)
        MessageRoutes(messages: messages).add(to: routes)
        AmendmentRoutes(messages: messages).add(to: routes)
    }

    package var background: [any Service] { upkeep }
}
