import Wire

/// The category of a notification, by which users turn notifications on and off.
package enum NotificationKind: String, Codable, CaseIterable, Sendable {
    case message
    case like
    case comment
    case follow
    case broadcast
    case social
    /// A notification from the application's server or an administrator.
    case server

    /// The kinds that a user can turn off: all except `server`.
    package static let optional = allCases.filter { $0 != .server }
}
