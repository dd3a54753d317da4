import ConversationsAPI
import Foundation
import Postgres
import Wire

/// The rules of messages: members send each message once, read the history, and move their read marks.
struct Messages: Sendable {
    let database: PostgresPool
    let writeShards: WriteShards
    let links: FileLinks

    /// Sends the draft's text, or a file in its place; the event about it is not sent to `connection`, which made the
    /// request.
    func send(
        _ draft: MessageDraft,
        file: FileContent? = nil,
        to token: ConversationToken,
        by sender: User.ID,
        through connection: Connection? = nil
    ) async throws -> Message {
        let replyTo = try await replySeq(draft.replyTo, in: token, by: sender)
        let message = MessageWrite(
            conversation: token,
            sender: sender,
            clientMessageID: try DraftRules.clientMessageID(draft.clientMessageId),
            data: try file?.reference.stored ?? DraftRules.text(draft.data),
            mime: try file?.mediaType ?? DraftRules.mime(draft.mime),
            encoding: try file == nil ? DraftRules.encoding(draft.encoding) : FileReference.encoding,
            meta: try DraftRules.meta(draft.meta),
            push: try DraftRules.push(draft),
            replyTo: replyTo
        )
        switch try await write(message, through: connection) {
        case .written(let written): return links.signed(Message(message, meta: draft.meta, written))
        case .duplicate(let seq): return try await current(seq, of: token, to: sender)
        case .refused: throw Conversations.blocked
        case .marked, .amended, .notMember: throw Conversations.notFound
        }
    }

    private func write(_ message: MessageWrite, through connection: Connection?) async throws -> WriteOutcome {
        guard let connection else { return try await writeShards.write(.message(message)) }
        connection.willSend(message)
        do {
            let outcome = try await writeShards.write(.message(message))
            switch outcome {
            case .written: break
            case .duplicate(let seq): connection.wasDuplicate(message, as: seq)
            case .marked, .amended, .refused, .notMember: connection.didNotSend(message)
            }
            return outcome
        } catch {
            connection.didNotSend(message)
            throw error
        }
    }

    func history(_ token: ConversationToken, to user: User.ID, _ span: HistorySpan) async throws -> [Message] {
        guard let messages = try await MessageStore(db: database.reads).history(token, for: user, span) else {
            throw Conversations.notFound
        }
        return links.signed(messages)
    }

    func changes(
        _ token: ConversationToken,
        to user: User.ID,
        after change: Int64,
        limit: Int
    ) async throws -> Changes {
        let store = MessageStore(db: database.reads)
        let found = try await store.changes(token.id, secret: token.secret, for: user, after: change, limit: limit)
        guard let found else { throw Conversations.notFound }
        return links.signed(found.changes)
    }

    /// Marks this message and all before it as read, and returns the message afterwards.
    func markRead(_ message: Message.ID, in token: ConversationToken, by user: User.ID) async throws -> ReadMessage {
        // For a message of another conversation, `seq` 0 moves no mark, but membership is still checked.
        let isHere = message.conversation == token.id
        let mark = try await markRead(in: token, by: user, .upTo(seq: isHere ? message.seq : 0))
        guard isHere, message.seq <= mark.seq else {
            throw Self.notFound
        }
        return ReadMessage(try await current(message.seq, of: token, to: user), mark)
    }

    /// Marks all messages older than a time as read.
    func markRead(before moment: Moment, in token: ConversationToken, by user: User.ID) async throws -> ReadMark {
        try await markRead(in: token, by: user, .before(moment.date))
    }

    private func markRead(
        in token: ConversationToken,
        by user: User.ID,
        _ extent: MarkWrite.Extent
    ) async throws -> ReadMark {
        let write = MarkWrite(conversation: token, user: user, extent: extent)
        guard case .marked(let mark) = try await writeShards.write(.mark(write)) else { throw Conversations.notFound }
        return mark
    }

    /// Returns the `seq` of the message that a draft replies to, which cannot change before the draft is sent.
    private func replySeq(_ id: Message.ID?, in token: ConversationToken, by user: User.ID) async throws -> Int64? {
        guard let id else { return nil }
        let isHere = id.rawValue > 0 && id.rawValue < 1 << 53 && id.conversation == token.id
        let has = try await MessageStore(db: database.reads).has(isHere ? id.seq : .max, in: token, for: user)
        guard let has else { throw Conversations.notFound }
        guard has else {
            throw APIError.invalid("replyTo", "\"replyTo\" must be the id of a message of this conversation")
        }
        return id.seq
    }

    /// Returns the message in its current state.
    func current(_ seq: Int64, of token: ConversationToken, to sender: User.ID) async throws -> Message {
        var span = HistorySpan()
        span.count = 1
        span.beforeSeq = seq + 1
        guard let message = try await history(token, to: sender, span).first else { throw Conversations.notFound }
        return message
    }
}

extension Message {
    /// A message at the time of writing, when only its sender has read it.
    init(_ draft: MessageWrite, meta: JSONValue?, _ written: WrittenMessage) {
        self.init(
            chatId: draft.conversation.id,
            seq: written.seq,
            change: written.change,
            data: draft.data,
            mime: draft.mime,
            encoding: draft.encoding,
            meta: draft.meta == nil ? nil : meta,
            createdAt: written.createdAt,
            senderUser: Sender(
                id: written.senderNumber,
                serial: draft.sender.user,
                meta: written.senderMeta.map(JSONValue.init(compact:))
            ),
            reads: written.memberCount <= ConversationStore<PostgresPool>.readsLimit ? [draft.sender.user] : nil,
            clientMessageId: ClientMessageID.isOurs(draft.clientMessageID) ? nil : draft.clientMessageID,
            replyTo: draft.replyTo.map { ID(draft.conversation.id, seq: $0) }
        )
    }
}
