import Wire

/// An event: the content that a notification shows was deleted or edited.
///
/// Push removes the text from its tables, and so from the log and the export. After a deletion, push cancels pending
/// notifications; after an edit, it sends them with the title only.
package struct NotificationRecalled: EventContent, Hashable {
    package static let type = "notification.recalled"

    package var applicationId: String
    /// The id of a notification; it also matches all ids that begin with it and a colon.
    package var notificationId: String
    package var isDeleted: Bool

    package init(applicationId: String, notificationId: String, isDeleted: Bool) {
        self.applicationId = applicationId
        self.notificationId = notificationId
        self.isDeleted = isDeleted
    }

    package var key: String { "notification:\(applicationId):\(notificationId)" }
}
