import ConversationsAPI
import Postgres
import ServiceHost
import Wire

/// The rows of the outbox about new messages, as the workers claim them for delivery to push; on a dedicated
/// connection.
///
/// The first row of a conversation represents all its rows: the worker that has claimed it owns the conversation. So
/// messages are delivered in their order, with any number of workers. The rows of a conversation are committed in their
/// order, because each was written under the head's lock.
struct PushOutboxStore: Sendable {
    /// The maximum number of rows of unclaimed conversations that a claim reads.
    private static let window = 1_000
    /// A limit for the messages of one row, which is above the number that any write puts into a row.
    private static let longest = 1_000_000

    private let dedicatedConnection: DedicatedConnection
    private let recalledBy: [String]

    /// - Parameters:
    ///   - database: stores the outbox.
    ///   - recalledBy: the subscribers of ``NotificationRecalled``.
    init(database: PostgresPool, recalledBy: [String] = []) {
        self.recalledBy = recalledBy
        dedicatedConnection = database.dedicatedConnection(
            statementTimeout: .seconds(5),
            settings: BatchWriter.settings
        )
    }

    /// Claims conversations for `seconds`; rows that this claimant still holds count as unclaimed.
    ///
    /// A row that waits for its retry, or is set aside, is left out, and the rest of its conversation does not wait for
    /// it. A conversation with an unreadable row is claimed again once that row is set aside.
    func claim(
        by claimant: String,
        limit: Int,
        seconds: Double
    ) async throws -> (values: [ClaimedConversation], unreadable: [FailedRow]) {
        let rows = try await dedicatedConnection.segment([
            """
            WITH oldest AS MATERIALIZED (
                SELECT outbox_id, conversation_id, from_seq, to_seq,
                       row_number() OVER (PARTITION BY conversation_id ORDER BY outbox_id) AS n
                FROM (
                    SELECT outbox_id, conversation_id, from_seq, to_seq FROM outbox
                    WHERE kind = 'messages'
                        AND (claimed_by IS DISTINCT FROM '' OR claimed_until <= clock_timestamp())
                        AND conversation_id <> ALL (ARRAY(
                            SELECT conversation_id FROM outbox
                            WHERE claimed_until > clock_timestamp() AND claimed_by IS DISTINCT FROM \(claimant)
                                AND claimed_by IS DISTINCT FROM ''
                        ))
                    ORDER BY outbox_id LIMIT \(Self.window)
                ) AS scanned
            ), free AS MATERIALIZED (
                SELECT outbox_id FROM outbox
                WHERE outbox_id = ANY (ARRAY(SELECT outbox_id FROM oldest WHERE n = 1))
                    AND (claimed_until IS NULL OR claimed_until <= clock_timestamp() OR claimed_by = \(claimant))
                ORDER BY outbox_id LIMIT \(limit)
                FOR UPDATE SKIP LOCKED
            ), claimed AS (
                UPDATE outbox
                SET claimed_by = \(claimant), claimed_until = clock_timestamp() + make_interval(secs => \(seconds))
                FROM free
                WHERE outbox.outbox_id = free.outbox_id
                RETURNING outbox.conversation_id
            )
            SELECT outbox_id, conversation_id, from_seq, to_seq FROM oldest
            WHERE conversation_id = ANY (ARRAY(SELECT conversation_id FROM claimed))
            ORDER BY outbox_id
            """
        ])[0]
        var indices: [Conversation.ID: Int] = [:]
        var claimed: [ClaimedConversation] = []
        var unreadable: [Conversation.ID: [FailedRow]] = [:]
        for row in rows {
            let conversation: Conversation.ID = try row.decode("conversation_id")
            let id = try row.int64("outbox_id")
            guard let first = try row.optionalInt64("from_seq"), let last = try row.optionalInt64("to_seq"),
                first >= 1, first <= last, last - first < Self.longest
            else {
                let failed = FailedRow(["\(id)"], .unreadable, detail: "from_seq and to_seq are not a range")
                unreadable[conversation, default: []].append(failed)
                continue
            }
            let outboxRow = ClaimedConversation.OutboxRow(row: id, seqs: first...last)
            if let index = indices[conversation] {
                claimed[index].add(outboxRow)
            } else {
                indices[conversation] = claimed.count
                claimed.append(ClaimedConversation(id: conversation, first: outboxRow))
            }
        }
        return (claimed.filter { unreadable[$0.id] == nil }, unreadable.values.flatMap(\.self))
    }

    /// Extends claims; returns how many of them this claimant still has.
    func renew(_ claimed: [ClaimedConversation], by claimant: String, seconds: Double) async throws -> Int {
        try await dedicatedConnection.segment([
            """
            UPDATE outbox SET claimed_until = clock_timestamp() + make_interval(secs => \(seconds))
            WHERE outbox_id = ANY (\(claimed.map(\.claim))) AND claimed_by = \(claimant)
            RETURNING outbox_id
            """
        ])[0].count
    }

    /// Deletes delivered rows; `delivered` has the conversations and messages as they were read.
    ///
    /// Messages that were deleted or edited during delivery are recalled again, because push may have received the
    /// recall before the notification. A deleted conversation is recalled as a whole.
    func delete(_ claimed: [ClaimedConversation], delivered: [Conversation.ID: NotableConversation] = [:]) async throws
    {
        let recall = recalledBy.isEmpty ? [] : [recall(claimed, delivered)]
        _ = try await dedicatedConnection.segment(
            recall + ["DELETE FROM outbox WHERE outbox_id = ANY (\(claimed.flatMap(\.rows)))"]
        )
    }

    private func recall(
        _ claimed: [ClaimedConversation],
        _ delivered: [Conversation.ID: NotableConversation]
    ) -> PostgresQuery {
        """
        WITH delivered AS MATERIALIZED (
            SELECT conversation_id, from_seq, to_seq, application_id, change
            FROM unnest(
                \(claimed.map(\.id.rawValue)), \(claimed.map(\.seqs.lowerBound)), \(claimed.map(\.seqs.upperBound)),
                \(claimed.map { delivered[$0.id]?.application }),
                \(claimed.map { delivered[$0.id]?.messages.map(\.change).max() ?? .max })
            ) AS delivered (conversation_id, from_seq, to_seq, application_id, change)
        ), changed AS MATERIALIZED (
            SELECT conversations.application_id, delivered.conversation_id, messages.seq,
                   messages.deleted_at IS NOT NULL AS is_deleted
            FROM delivered
            JOIN conversations ON conversations.conversation_id = delivered.conversation_id
            JOIN messages ON messages.conversation_id = delivered.conversation_id
                AND messages.seq >= delivered.from_seq AND messages.seq <= delivered.to_seq
            WHERE messages.deleted_at IS NOT NULL
                OR messages.edited_at IS NOT NULL AND messages.change > delivered.change
            UNION ALL
            SELECT delivered.application_id, delivered.conversation_id, NULL, true
            FROM delivered
            WHERE delivered.application_id IS NOT NULL AND NOT EXISTS (
                SELECT FROM conversations WHERE conversations.conversation_id = delivered.conversation_id
            )
        )
        \(recalling: "changed", for: recalledBy)
        """
    }

    /// Releases claims; any worker may claim the conversations again after `seconds`.
    func release(_ claimed: [ClaimedConversation], by claimant: String, after seconds: Double = 0) async throws {
        _ = try await dedicatedConnection.segment([
            """
            UPDATE outbox
            SET claimed_by = NULL, claimed_until = clock_timestamp() + make_interval(secs => \(seconds))
            WHERE outbox_id = ANY (\(claimed.map(\.claim))) AND claimed_by = \(claimant)
            """
        ])
    }

    /// Returns the number of waiting rows, and the age of the oldest in seconds.
    func lag() async throws -> (waiting: Int, oldest: Double) {
        let rows = try await dedicatedConnection.segment([
            """
            SELECT count(*) AS waiting,
                   coalesce(extract(epoch FROM clock_timestamp() - min(written_at)), 0)::float8 AS oldest
            FROM outbox WHERE kind = 'messages' AND claimed_until IS DISTINCT FROM 'infinity'
            """
        ])[0]
        return try rows.first.map { (try $0.int("waiting"), max(0, try $0.double("oldest"))) } ?? (0, 0)
    }
}

extension SetAsideKind {
    /// A row about new messages that push has not accepted.
    ///
    /// The empty claimant distinguishes a row that waits for a retry from a claimed conversation.
    static let pushOutbox = SetAsideKind(
        "push_outbox",
        table: "outbox",
        key: ["outbox_id": "bigint"],
        due: "claimed_until",
        clock: .database,
        postponing: "claimed_by = ''"
    )
}

/// A conversation that one worker has claimed, with the messages to deliver.
struct ClaimedConversation: Sendable {
    /// A row of the outbox: the messages from one `seq` to another.
    struct OutboxRow: Sendable {
        let row: Int64
        let seqs: ClosedRange<Int64>
    }

    /// The maximum number of messages of one conversation in a claim; the rest follows after other conversations.
    private static let maximum = 100

    let id: Conversation.ID
    /// The row that represents all of them.
    let claim: Int64
    private(set) var rows: [Int64]
    private(set) var seqs: ClosedRange<Int64>
    private var isFull = false

    init(id: Conversation.ID, first: OutboxRow) {
        self.id = id
        claim = first.row
        rows = [first.row]
        seqs = first.seqs
    }

    /// Adds the next row while there is room; behind a row that was left out, no row is added.
    fileprivate mutating func add(_ outboxRow: OutboxRow) {
        guard !isFull, seqs.count + outboxRow.seqs.count <= Self.maximum else {
            isFull = true
            return
        }
        rows.append(outboxRow.row)
        seqs = seqs.lowerBound...max(seqs.upperBound, outboxRow.seqs.upperBound)
    }
}
