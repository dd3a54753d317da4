import ConversationsAPI
import Foundation

/// Where a walk through somebody's conversations stands.
struct ConversationCursor: Codable, Sendable {
    /// The moment whose order is walked.
    let asOf: Date
    /// What is older than this was settled at that moment.
    let recent: Date
    /// The last one given, and its activity.
    let at: Date
    let id: Conversation.ID
    /// Those given whose activity is later than `recent`.
    let given: [Conversation.ID]

    /// How long a message may be on its way to being committed, in seconds; lanes and transactions give up before.
    private static let settling = 10.0
    /// More would not fit into a cursor; with more, only the latest are told apart.
    private static let maximumGiven = 40

    /// After a page, the last of which is `last`.
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
