import ConversationsAPI
import Postgres
import ServiceHost
import Wire

/// The messages and members for notifications, read on a dedicated connection because large conversations take long.
struct NotableMessageStore: Sendable {
    /// The maximum number of characters read of a text, which is more than any screen or push service accepts.
    private static let characters = 1_000

    private let dedicatedConnection: DedicatedConnection

    init(database: PostgresPool) {
        dedicatedConnection = database.dedicatedConnection(
            statementTimeout: .seconds(10),
            settings: BatchWriter.settings.merging(["default_transaction_read_only": "on"]) { $1 }
        )
    }

    /// Returns the users' messages that may need a notification, in their order, by conversation.
    ///
    /// Deleted messages, system messages and deleted conversations are left out. A message that cannot be read is left
    /// out too, and its key is returned.
    func messages(
        of claimed: [ClaimedConversation]
    ) async throws -> (found: [Conversation.ID: NotableConversation], unreadable: [FailedRow]) {
        let rows = try await dedicatedConnection.segment([
            """
            SELECT input.conversation_id, conversations.application_id, conversations.secret, conversations.type,
                   conversations.label, conversations.member_count,
                   messages.seq, messages.change, messages.sender_id, messages.push,
                   CASE WHEN messages.encoding = 'utf8' AND lower(left(messages.mime, 5)) = 'text/'
                        THEN left(messages.data, \(Self.characters)::int4) END AS text,
                   \(unsafe: MessageRow.senderMeta(of: "messages.sender_number")) AS sender_meta
            FROM unnest(
                \(claimed.map(\.id.rawValue)), \(claimed.map(\.seqs.lowerBound)), \(claimed.map(\.seqs.upperBound))
            ) AS input (conversation_id, from_seq, to_seq)
            JOIN conversations ON conversations.conversation_id = input.conversation_id
            JOIN messages ON messages.conversation_id = input.conversation_id
                AND messages.seq >= input.from_seq AND messages.seq <= input.to_seq
            WHERE messages.sender_id IS NOT NULL AND messages.deleted_at IS NULL
                AND (messages.push IS NOT NULL
                    OR messages.encoding = 'utf8' AND lower(left(messages.mime, 5)) = 'text/')
            ORDER BY input.conversation_id, messages.seq
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

    /// Returns members of each conversation, ordered by id, behind `after`, at most `limit` of each conversation.
    func members(
        of conversations: [(id: Conversation.ID, after: String)],
        limit: Int
    ) async throws -> [Conversation.ID: [NotableMember]] {
        let rows = try await dedicatedConnection.segment([
            """
            SELECT input.conversation_id, page.user_id, page.user_number, page.push_enabled, page.devices
            FROM unnest(\(conversations.map(\.id.rawValue)), \(conversations.map(\.after)))
                AS input (conversation_id, after)
            CROSS JOIN LATERAL (
                SELECT members.user_id, members.user_number, members.push_enabled, ARRAY(
                    SELECT DISTINCT connected_devices.device_id FROM connected_devices
                    JOIN instances ON instances.instance_id = connected_devices.instance_id
                    WHERE connected_devices.application_id = members.application_id
                        AND connected_devices.user_id = members.user_id
                        AND instances.lease_until > clock_timestamp()
                ) AS devices
                FROM members
                WHERE members.conversation_id = input.conversation_id AND members.user_id > input.after
                ORDER BY members.user_id LIMIT \(limit)
            ) AS page
            ORDER BY input.conversation_id, page.user_id
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

    /// Returns the members from `first` to `last` that a block in either direction separates from a sender.
    func blockedPeers(_ input: [BlockedPairQuery]) async throws -> [Conversation.ID: [BlockedMemberPair]] {
        let rows = try await dedicatedConnection.segment([
            """
            SELECT input.conversation_id, input.sender_id, members.user_id
            FROM unnest(
                \(input.map(\.conversation.rawValue)), \(input.map(\.sender)), \(input.map(\.first)),
                \(input.map(\.last))
            ) AS input (conversation_id, sender_id, first, last)
            JOIN members ON members.conversation_id = input.conversation_id
                AND members.user_id >= input.first AND members.user_id <= input.last
            WHERE EXISTS (
                SELECT FROM blocks
                WHERE blocks.application_id = members.application_id AND blocks.user_id = members.user_id
                    AND blocks.blocked_id = input.sender_id
            ) OR EXISTS (
                SELECT FROM blocks
                WHERE blocks.application_id = members.application_id AND blocks.user_id = input.sender_id
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

/// A conversation with messages that may need a notification.
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

/// A message that may need a notification.
struct NotableMessage: Sendable {
    let seq: Int64
    /// The change number of the message when it was read.
    let change: Int64
    let sender: String
    /// Compact JSON: the sender's `meta`.
    let senderMeta: String?
    /// The beginning of the text; nil for a message that is not text.
    let text: String?
    /// Compact JSON: the sender's options for the notification.
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

/// A member of a conversation with messages that may need a notification.
struct NotableMember: Sendable {
    let user: String
    /// The user's number in diuit's format, which is unique and never changes.
    let number: Int64
    /// Whether the member wants notifications of messages here.
    let isNotified: Bool
    /// The member's devices with an open socket.
    let connectedDevices: [String]
}

/// A query for the members in a range of ids that a block separates from a sender.
struct BlockedPairQuery: Sendable {
    let conversation: Conversation.ID
    let sender: String
    let first: String
    let last: String
}

/// Two users that a block in either direction separates.
struct BlockedMemberPair: Sendable {
    let sender: String
    let user: String
}
