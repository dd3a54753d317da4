import ConversationsAPI
import Postgres
import Wire

/// Typing indicators: received from one socket, sent to the sockets of the other members.
extension Delivery {
    /// Notifies the other members of a conversation that a user is typing, at most once in three seconds.
    ///
    /// - Throws: `notFound` for a user outside of the conversation, `forbidden` when the other user of a direct
    ///   conversation has blocked the user.
    func type(in conversation: Conversation.ID, by connection: Connection) async throws {
        guard connections.isIn(conversation, connection) else { throw Conversations.notFound }
        let typing = Typing(user: connection.user, conversation: conversation)
        guard !self.typing.isHeld(typing) else { return }
        let maySend = try await MemberHeadStore(db: database.reads).maySend(connection.user, in: conversation)
        guard let maySend else { throw Conversations.notFound }
        guard maySend else { throw Conversations.blocked }
        deliver(typing)
        changeNotifier.publish(.typing(conversation, connection.user))
    }

    /// Delivers a typing event to this instance's sockets, unless the same was delivered a moment ago.
    func deliver(_ typing: Typing) {
        guard self.typing.passes(typing), let room = connections.room(typing.conversation) else { return }
        let own = room.connections.filter { $0.user == typing.user }.map(\.socket)
        rooms.emit(typing.event, to: typing.conversation, except: own)
    }
}
