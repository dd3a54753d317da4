import Postgres
import PushAPI
import ServiceHost
import Wire

/// Has push forget what it told of comments and posts that are deleted or edited.
struct NotificationRecall: Sendable {
    var events = EventOutbox.none

    /// In the transaction that deletes or edits a comment: the round that told it, or all rounds where it is not known any
    /// more.
    func comment(_ key: CommentKey, isDeleted: Bool, of author: Person.ID, in db: PostgresTransaction) async throws {
        guard !events.subscribers(of: NotificationRecalled.self).isEmpty,
            let application = try await ActivityStore(db: db).application(of: author)
        else { return }
        let round = try await ActivityStore(db: db).round(of: key)
        let id = ActivityNotification.id(.comment, of: key.post, round: round)
        try await events.write(
            NotificationRecalled(applicationId: application, notificationId: id, isDeleted: isDeleted),
            in: db
        )
    }

    /// In the transaction that deletes a post.
    func post(_ key: PostKey, of application: String, in db: PostgresTransaction) async throws {
        let recalled = [PhotoActivity.Kind.comment, .like].map { kind in
            NotificationRecalled(
                applicationId: application,
                notificationId: ActivityNotification.id(kind, of: key, round: nil),
                isDeleted: true
            )
        }
        try await events.write(recalled, in: db)
    }
}
