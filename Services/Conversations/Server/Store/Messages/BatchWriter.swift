import ConversationsAPI
import Foundation
import Postgres
import PushAPI
import Wire

/// The statements that write a batch of messages, marks and amendments: one round trip, one transaction.
///
/// The first statement locks the heads in the order of their ids, so that two batches never deadlock. The others run
/// after the lock with snapshots of their own, so they see what was committed while the first waited. A single
/// statement would assign numbers by an old snapshot, and accept messages of members who were kicked meanwhile.
struct BatchWriter: Sendable {
    /// The plans of these statements are made once, for any size: every table is read by an index in a nested loop.
    ///
    /// By default, the planner would choose to scan a small table, and keep that plan while the table grows.
    static let settings = [
        "plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "enable_hashjoin": "off",
        "enable_mergejoin": "off", "jit": "off",
    ]

    private let dedicatedConnection: DedicatedConnection
    private let recalledBy: [String]

    /// - Parameters:
    ///   - database: stores the conversations.
    ///   - statementTimeout: the maximum duration of a statement.
    ///   - recalledBy: the subscribers of ``NotificationRecalled``, which receive deleted and edited messages.
    init(database: PostgresPool, statementTimeout: Duration, recalledBy: [String] = []) {
        self.recalledBy = recalledBy
        dedicatedConnection = database.dedicatedConnection(statementTimeout: statementTimeout, settings: Self.settings)
    }

    /// Returns the outcome of each write, in their order.
    func write(_ writes: [ConversationWrite]) async throws -> [WriteOutcome] {
        var messages: [(index: Int, write: MessageWrite)] = []
        var amendments: [(index: Int, write: Amendment)] = []
        var marks: [(index: Int, write: MarkWrite)] = []
        for (index, write) in writes.enumerated() {
            switch write {
            case .message(let message): messages.append((index, message))
            case .amendment(let amendment): amendments.append((index, amendment))
            case .mark(let mark): marks.append((index, mark))
            }
        }
        var parts: [Part] = []
        if !messages.isEmpty {
            parts.append(Part(Self.insert(messages.map(\.write)), messages.map(\.index), Self.message))
        }
        if !amendments.isEmpty {
            let statement = Self.amend(amendments.map(\.write), recalledBy: recalledBy)
            parts.append(Part(statement, amendments.map(\.index), Self.amendment))
        }
        if !marks.isEmpty { parts.append(Part(Self.mark(marks.map(\.write)), marks.map(\.index), Self.mark)) }

        let results = try await dedicatedConnection.segment(
            [Self.lock(Array(Set(writes.map(\.conversation))))] + parts.map(\.statement)
        )

        var outcomes = [WriteOutcome](repeating: .notMember, count: writes.count)
        for (part, result) in zip(parts, results.dropFirst()) {
            for row in result {
                let (index, outcome) = try part.read(row)
                outcomes[part.indices[index]] = outcome
            }
        }
        return outcomes
    }

    /// The writes of one kind: their statement, their indices in the batch, and the decoder of their outcomes.
    private struct Part {
        let statement: PostgresQuery
        let indices: [Int]
        let read: (PostgresRow) throws -> (index: Int, WriteOutcome)

        init(
            _ statement: PostgresQuery,
            _ indices: [Int],
            _ read: @escaping (PostgresRow) throws -> (index: Int, WriteOutcome)
        ) {
            self.statement = statement
            self.indices = indices
            self.read = read
        }
    }

    static func lock(_ conversations: [Conversation.ID]) -> PostgresQuery {
        """
        SELECT conversation_id FROM heads WHERE conversation_id = ANY (\(conversations.map(\.rawValue)))
        ORDER BY conversation_id FOR NO KEY UPDATE
        """
    }

    private static func message(_ row: PostgresRow) throws -> (index: Int, WriteOutcome) {
        let index: Int = try row.decode(at: 0) - 1
        guard let change: Int64 = try row.decodeIfPresent(at: 2) else {
            let seq: Int64? = try row.decodeIfPresent(at: 1)
            return (index, seq.map(WriteOutcome.duplicate) ?? .refused(.blocked))
        }
        return (
            index,
            .written(
                WrittenMessage(
                    seq: try row.decode(at: 1),
                    change: change,
                    senderNumber: try row.decode(at: 3),
                    senderMeta: try row.decodeIfPresent(at: 6),
                    createdAt: try row.decode(at: 4),
                    memberCount: try row.decode(at: 5)
                )
            )
        )
    }

    private static func mark(_ row: PostgresRow) throws -> (index: Int, WriteOutcome) {
        (
            try row.decode(at: 0) - 1,
            .marked(
                ReadMark(seq: try row.decode(at: 1), unreadCount: try row.decode(at: 3), change: try row.decode(at: 2))
            )
        )
    }
}

extension PostgresQuery.StringInterpolation {
    /// Appends a statement that writes ``NotificationRecalled`` about each row of `source`, which has `application_id`,
    /// `conversation_id`, `seq` and `is_deleted`; a `seq` of NULL means the whole conversation.
    mutating func appendInterpolation(recalling source: String, for subscribers: [String]) {
        appendLiteral(
            """
            INSERT INTO event_outbox (event_id, subscriber, type, key, content, written_at, due_at)
            SELECT gen_random_uuid(), subscribers.name, '\(NotificationRecalled.type)',
                   'notification:' || application_id || ':' || named.id,
                   json_build_object(
                       'applicationId', application_id, 'notificationId', named.id, 'isDeleted', is_deleted
                   )::text,
                   clock_timestamp(), clock_timestamp()
            FROM \(source)
            CROSS JOIN LATERAL (SELECT concat_ws(':', 'message', conversation_id, seq) AS id) AS named
            CROSS JOIN unnest(
            """
        )
        appendInterpolation(subscribers)
        appendLiteral(") AS subscribers (name)")
    }
}
