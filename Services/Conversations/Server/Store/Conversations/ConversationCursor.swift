import ConversationsAPI
import Foundation

/// A position in the list of a user's conversations.
struct ConversationCursor: Codable, Sendable {
    /// The time whose order the list shows.
    let asOf: Date
    /// All activity before this time was committed at `asOf`.
    let recent: Date
    /// The activity of the last listed conversation.
    let at: Date
    let id: Conversation.ID
    /// Listed conversations whose activity is later than `recent`.
    let given: [Conversation.ID]

    /// The maximum time that a message takes to be committed, in seconds; write shards and transactions time out
    /// earlier.
    private static let settling = 10.0
    /// The maximum number of ids that fit into a cursor.
    ///
    /// Beyond it, `recent` moves forward, and only the latest conversations are listed by id.
    private static let maximumGiven = 40

    /// Continues after a page that ends with `last`.
    init(after page: ArraySlice<ListedConversation>, last: ListedConversation, of earlier: ConversationCursor?) {
        asOf = earlier?.asOf ?? max(last.now, page.first?.activeAt ?? last.now)
        let settled = earlier?.recent ?? asOf.addingTimeInterval(-Self.settling)
        var given = earlier?.given ?? []
        var recent = settled
        for listed in page where listed.activeAt > settled {
            guard given.count < Self.maximumGiven else {
                recent = max(recent, listed.activeAt)
                continue
            }
            given.append(listed.conversation.id)
        }
        self.recent = recent
        self.given = given
        at = last.activeAt
        id = last.conversation.id
    }
}
