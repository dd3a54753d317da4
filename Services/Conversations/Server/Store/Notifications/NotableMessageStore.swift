import ConversationsAPI
import Postgres
import ServiceHost
import Wire

/// What is to be said of messages, and to whom; read on a connection of its own, since of a large conversation it takes its
/// time.
struct NotableMessageStore: Sendable {
    /// So much of a text is read: more than any screen or push service takes.
    private static let characters = 1_000

    private let dedicatedConnection: DedicatedConnection

    init(database: PostgresPool) {
        dedicatedConnection = database.dedicatedConnection(
            statementTimeout: .seconds(10),
            settings: BatchWriter.settings.merging(["default_transaction_read_only": "on"]) { $1 }
        )
    }

    /// The messages of people that may be worth a notification, in their order, by conversation.
    ///
    /// What was deleted meanwhile, and what the suite itself said, is not among them; nor is a conversation that is gone.
    /// A message that cannot be read is left out, and is returned by its key.
    func messages(
        of claimed: [ClaimedConversation]
    ) async throws -> (found: [Conversation.ID: NotableConversation], unreadable: [FailedRow]) {
        let rows = try await dedicatedConnection.segment([
            """
            SELECT asked.conversation_id, conversations.application_id, conversations.secret, conversations.type,
                   conversations.label, conversations.member_count,
                   messages.seq, messages.change, messages.sender_id, messages.push,
                   CASE WHEN messages.encoding = 'utf8' AND lower(left(messages.mime, 5)) = 'text/'
                        THEN left(messages.data, \(Self.characters)::int4) END AS text,
                   \(unsafe: MessageRow.senderMeta(of: "messages.sender_number")) AS sender_meta
            FROM unnest(
                \(claimed.map(\.id.rawValue)), \(claimed.map(\.seqs.lowerBound)), \(claimed.map(\.seqs.upperBound))
            ) AS asked (conversation_id, from_seq, to_seq)
            JOIN conversations ON conversations.conversation_id = asked.conversation_id
            JOIN messages ON messages.conversation_id = asked.conversation_id
                AND messages.seq >= asked.from_seq AND messages.seq <= asked.to_seq
            WHERE messages.sender_id IS NOT NULL AND messages.deleted_at IS NULL
                AND (messages.push IS NOT NULL
                    OR messages.encoding = 'utf8' AND lower(left(messages.mime, 5)) = 'text/')
            ORDER BY asked.conversation_id, messages.seq
            """
        ])[0]
        var found: [Conversation.ID: NotableConversation] = [:]
        var unreadable: [FailedRow] = []
        for row in rows {
            let id: Conversation.ID = try row.decode("conversation_id")
            var conversation = try found[id] ?? NotableConversation(id, row)
            do {
                conversation.messages.append(try NotableMessage(row))
            } catch {
                unreadable.append(FailedRow(["\(id.rawValue)", "\(try row.int64("seq"))"], unreadable: error))
            }
            found[id] = conversation
        }
        return (found, unreadable)
    }

    /// Members of each of these conversations, in the order of their names and those behind `after`, at most `limit` of each.
    func members(
        of conversations: [(id: Conversation.ID, after: String)],
        limit: Int
    ) async throws -> [Conversation.ID: [NotableMember]] {
        let rows = try await dedicatedConnection.segment([
            """
            SELECT asked.conversation_id, page.user_id, page.user_number, page.push_enabled, page.devices
            FROM unnest(\(conversations.map(\.id.rawValue)), \(conversations.map(\.after)))
                AS asked (conversation_id, after)
            CROSS JOIN LATERAL (
                SELECT members.user_id, members.user_number, members.push_enabled, ARRAY(
                    SELECT DISTINCT connected_devices.device_id FROM connected_devices
                    JOIN instances ON instances.instance_id = connected_devices.instance_id
                    WHERE connected_devices.application_id = members.application_id
                        AND connected_devices.user_id = members.user_id
                        AND instances.lease_until > clock_timestamp()
                ) AS devices
                FROM members
                WHERE members.conversation_id = asked.conversation_id AND members.user_id > asked.after
                ORDER BY members.user_id LIMIT \(limit)
            ) AS page
            ORDER BY asked.conversation_id, page.user_id
            """
        ])[0]
        var found: [Conversation.ID: [NotableMember]] = [:]
        for row in rows {
            let member = NotableMember(
                user: try row.string("user_id"),
                number: try row.int64("user_number"),
                isNotified: try row.bool("push_enabled"),
                connectedDevices: try row.decode("devices")
            )
            found[try row.decode("conversation_id"), default: []].append(member)
        }
        return found
    }

    /// Those members from `first` to `last` whom one of the senders has blocked, or who have blocked him.
    func blockedPeers(_ asked: [BlockedPairQuery]) async throws -> [Conversation.ID: [BlockedMemberPair]] {
        let rows = try await dedicatedConnection.segment([
            """
            SELECT asked.conversation_id, asked.sender_id, members.user_id
            FROM unnest(
                \(asked.map(\.conversation.rawValue)), \(asked.map(\.sender)), \(asked.map(\.first)),
                \(asked.map(\.last))
            ) AS asked (conversation_id, sender_id, first, last)
            JOIN members ON members.conversation_id = asked.conversation_id
                AND members.user_id >= asked.first AND members.user_id <= asked.last
            WHERE EXISTS (
                SELECT FROM blocks
                WHERE blocks.application_id = members.application_id AND blocks.user_id = members.user_id
                    AND blocks.blocked_id = asked.sender_id
            ) OR EXISTS (
                SELECT FROM blocks
                WHERE blocks.application_id = members.application_id AND blocks.user_id = asked.sender_id
                    AND blocks.blocked_id = members.user_id
            )
            """
        ])[0]
        var found: [Conversation.ID: [BlockedMemberPair]] = [:]
        for row in rows {
            let pair = BlockedMemberPair(sender: try row.string("sender_id"), user: try row.string("user_id"))
            found[try row.decode("conversation_id"), default: []].append(pair)
        }
        return found
    }
}

/// A conversation in which there is something to be told.
struct NotableConversation: Sendable {
    let id: Conversation.ID
    let application: String
    let token: ConversationToken
    let isDirect: Bool
    let label: String
    let memberCount: Int
    fileprivate(set) var messages: [NotableMessage] = []

    fileprivate init(_ id: Conversation.ID, _ row: PostgresRow) throws {
        self.id = id
        application = try row.string("application_id")
        token = ConversationToken(id: id, secret: try row.string("secret"))
        isDirect = try row.string("type") == Conversation.Kind.direct.rawValue
        label = try row.string("label")
        memberCount = try row.int("member_count")
    }
}

/// A message that may be worth a notification.
struct NotableMessage: Sendable {
    let seq: Int64
    /// The last change of the message when it was read.
    let change: Int64
    let sender: String
    /// Compact JSON: what the sender says about himself.
    let senderMeta: String?
    /// Its beginning; nil where it is no text.
    let text: String?
    /// Compact JSON: what the sender wants said.
    let push: String?

    fileprivate init(_ row: PostgresRow) throws {
        seq = try row.int64("seq")
        change = try row.int64("change")
        sender = try row.string("sender_id")
        senderMeta = try row.optionalString("sender_meta")
        text = try row.optionalString("text")
        push = try row.optionalString("push")
    }
}

/// A member of a conversation in which there is something to be told.
struct NotableMember: Sendable {
    let user: String
    /// What a user is known by in diuit's numbers; nobody else has it, and it stays.
    let number: Int64
    /// Whether he wants to hear of messages here.
    let isNotified: Bool
    /// Those with an open socket of their own.
    let connectedDevices: [String]
}

/// A question: who of the members from one name to another is kept apart from a sender.
struct BlockedPairQuery: Sendable {
    let conversation: Conversation.ID
    let sender: String
    let first: String
    let last: String
}

/// Two who are kept apart by a block, whoever of them made it.
struct BlockedMemberPair: Sendable {
    let sender: String
    let user: String
}
