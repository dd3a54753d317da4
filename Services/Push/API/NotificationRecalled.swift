import Wire

/// The text that a notification tells was deleted or edited.
///
/// Push removes the text of every such notification from its tables, and with it from the log and the export. After a
/// deletion it does not send those that are still waiting; after an edit it sends them with their title alone.
package struct NotificationRecalled: EventContent, Hashable {
    package static let type = "notification.recalled"

    package var applicationId: String
    /// The id of a notification; it stands for all whose ids begin with it and a colon, too.
    package var notificationId: String
    package var isDeleted: Bool

    package init(applicationId: String, notificationId: String, isDeleted: Bool) {
        self.applicationId = applicationId
        self.notificationId = notificationId
        self.isDeleted = isDeleted
    }

    package var key: String { "notification:\(applicationId):\(notificationId)" }
}
