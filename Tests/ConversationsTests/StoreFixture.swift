import ConversationsAPI
import Foundation
import Logging
import Postgres
import ServiceHost
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

/// A conversation in the store with write shards, without HTTP.
struct StoreFixture: Sendable {
    let database: TestDatabase
    let writeShards: WriteShards
    let conversation: ConversationToken

    static let application = "acme"
    static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    var pool: PostgresPool { database.pool }

    static func user(_ name: String) -> User.ID { User.ID(application: application, user: name) }

    /// Creates a conversation; the first member is its creator.
    func newConversation(_ members: [String] = ["ana", "bo", "cat"]) async throws -> ConversationToken {
        try await Self.newConversation(members, in: pool)
    }

    static func newConversation(_ members: [String], in pool: PostgresPool) async throws -> ConversationToken {
        let new = NewConversation(
            creator: user(members[0]),
            secret: ConversationToken.newSecret(),
            type: .group,
            label: "Walks",
            meta: nil,
            whiteList: [],
            joinByToken: true,
            members: members
        )
        return try await pool.transaction { db in
            try await MemberStore(db: db).ensureUsers(members, of: application)
            return try await ConversationStore(db: db).insert(new)
        }
    }

    func draft(
        _ data: String = "hello",
        by sender: String = "ana",
        id: String = UUID().uuidString,
        mime: String = "text/plain",
        in token: ConversationToken? = nil
    ) -> ConversationWrite {
        .message(
            MessageWrite(
                conversation: token ?? conversation,
                sender: Self.user(sender),
                clientMessageID: id,
                data: data,
                mime: mime,
                encoding: "utf8",
                meta: nil,
                push: nil,
                replyTo: nil
            )
        )
    }

    func mark(_ user: String, upTo seq: Int64, in token: ConversationToken? = nil) -> ConversationWrite {
        .mark(MarkWrite(conversation: token ?? conversation, user: Self.user(user), extent: .upTo(seq: seq)))
    }

    /// Returns write shards like those of another instance.
    func otherShards() -> WriteShards {
        WriteShards(database: pool, configuration: .longTimeouts, logger: Self.logger)
    }

    var conversations: Conversations {
        Conversations(
            database: pool,
            users: KnownUsers(auth: FakeAuth.unreachable),
            cursors: CursorSigner(secrets: ["cursors"]),
            links: FileLinks(signer: LinkSigner(secrets: ["links"]), publicURL: "http://roost.test", now: { Date() }),
            maximumMembers: 10_000
        )
    }

    func expectNew(_ draft: ConversationWrite) async throws {
        let outcome = try await writeShards.write(draft)
        #expect(outcome.isNew)
    }

    /// Holds the conversation's lock until `body` has returned.
    func holdingLock(of token: ConversationToken? = nil, _ body: () async throws -> Void) async throws {
        let id = (token ?? conversation).id
        try await pool.transaction { db in
            _ = try await HeadStore(db: db).lock(id)
            try await body()
        }
    }

    /// Returns the invariants of a conversation.
    func audit(_ token: ConversationToken? = nil) async throws -> Audit {
        let id = (token ?? conversation).id
        return try await pool.one(
            """
            SELECT count(messages.seq) AS messages, coalesce(max(messages.seq), 0) AS last,
                   heads.last_seq, heads.last_change, coalesce(max(messages.change), 0) AS change,
                   heads.last_user_seq = count(messages.sender_id) AS user_seq,
                   count(*) FILTER (WHERE messages.backwards) AS backwards
            FROM heads LEFT JOIN (
                SELECT seq, change, sender_id, conversation_id,
                       created_at < lag(created_at) OVER (ORDER BY seq)
                           OR user_seq < lag(user_seq) OVER (ORDER BY seq) AS backwards
                FROM messages WHERE conversation_id = \(id)
            ) AS messages USING (conversation_id)
            WHERE heads.conversation_id = \(id)
            GROUP BY heads.last_seq, heads.last_change, heads.last_user_seq
            """,
            as: { row in
                Audit(
                    messages: try row.int("messages"),
                    isGapless: try row.int("messages") == row.int("last") && row.int("last") == row.int("last_seq"),
                    isOrdered: try row.int("backwards") == 0 && row.int("change") <= row.int("last_change"),
                    isCounted: try row.bool("user_seq")
                )
            }
        )
    }

    struct Audit: Equatable {
        let messages: Int
        let isGapless: Bool
        /// Whether `createdAt` never decreases along `seq`, and no change number exceeds the head's.
        let isOrdered: Bool
        let isCounted: Bool

        static func consistent(_ messages: Int) -> Audit {
            Audit(messages: messages, isGapless: true, isOrdered: true, isCounted: true)
        }
    }
}

extension ConversationsConfiguration {
    static let longTimeouts = with { _ in }

    /// Returns a configuration with long timeouts for busy machines; a test of timeouts overrides them.
    static func with(_ change: (inout ConversationsConfiguration) -> Void) -> ConversationsConfiguration {
        var configuration = ConversationsConfiguration()
        configuration.writeShardTimeout = .seconds(60)
        configuration.sendDeadline = .seconds(60)
        change(&configuration)
        return configuration
    }
}

func withStore(
    _ configuration: ConversationsConfiguration = .longTimeouts,
    _ body: (StoreFixture) async throws -> Void
) async throws {
    try await TestDatabase.with(migrations: ServiceHost.migrations(of: ConversationsService.self)) { database in
        let fixture = StoreFixture(
            database: database,
            writeShards: WriteShards(
                database: database.pool,
                configuration: configuration,
                logger: StoreFixture.logger
            ),
            conversation: try await StoreFixture.newConversation(["ana", "bo", "cat"], in: database.pool)
        )
        try await body(fixture)
    }
}

extension WriteOutcome {
    var seq: Int64? {
        switch self {
        case .written(let written): written.seq
        case .duplicate(let seq): seq
        case .marked, .amended, .refused, .notMember: nil
        }
    }

    var isNew: Bool { if case .written = self { true } else { false } }
    var isNotMember: Bool { if case .notMember = self { true } else { false } }
    var mark: ReadMark? { if case .marked(let mark) = self { mark } else { nil } }
}
