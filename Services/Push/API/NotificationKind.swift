import Wire

/// What a notification is about, so that everybody can say which ones he wants.
package enum NotificationKind: String, Codable, CaseIterable, Sendable {
    /// Somebody said something in a conversation.
    case message
    case like
    case comment
    case follow
    /// A favourite goes live.
    case broadcast
    /// Something changed on a network that is linked.
    case social
    /// What an application's own server, or an administrator, has to say.
    case server

    /// Those that can be turned off one by one: all but what the application itself says.
    package static let optional = allCases.filter { $0 != .server }
}
