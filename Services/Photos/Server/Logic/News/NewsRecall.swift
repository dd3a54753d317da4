import Postgres
import PushAPI
import ServiceHost
import Wire

/// Has push forget what it told of comments and posts that are deleted or edited.
struct NewsRecall: Sendable {
    var events = EventOutbox.none

    /// In the transaction that deletes or edits a comment: the round that told it, or all rounds where it is not known any
    /// more.
    func comment(_ key: CommentKey, isDeleted: Bool, of author: Person.ID, in db: PostgresTransaction) async throws {
        guard !events.subscribers(of: NotificationRecalled.self).isEmpty,
            let application = try await NewsStore(db: db).application(of: author)
        else { return }
        let round = try await NewsStore(db: db).round(of: key)
        let id = NewsNotice.id(.comment, of: key.post, round: round)
        try await events.write(
            NotificationRecalled(applicationId: application, notificationId: id, isDeleted: isDeleted),
            in: db
        )
    }

    /// In the transaction that deletes a post.
    func post(_ key: PostKey, of application: String, in db: PostgresTransaction) async throws {
        let recalled = [PhotoNews.Kind.comment, .like].map { kind in
            NotificationRecalled(
                applicationId: application,
                notificationId: NewsNotice.id(kind, of: key, round: nil),
                isDeleted: true
            )
        }
        try await events.write(recalled, in: db)
    }
}
