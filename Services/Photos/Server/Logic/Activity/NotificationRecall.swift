import Postgres
import PushAPI
import ServiceHost
import Wire

/// Recalls push notifications about deleted or edited comments and deleted posts.
struct NotificationRecall: Sendable {
    var events = EventOutbox.none

    /// Publishes the recall of a comment in the transaction that deletes or edits it.
    ///
    /// Recalls the notification of the comment's round, or of all rounds if the round is no longer stored.
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
