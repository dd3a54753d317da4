import Foundation
import PushAPI
import Wire

enum RuleDecision: Hashable, Sendable {
    case send
    case withhold(WithholdingReason)
    case hold(until: Date)
    case expired
    case cancelled
}

/// The reasons in the log for which a user is not notified.
enum WithholdingReason: String, Sendable, CaseIterable {
    /// The user turned off all notifications.
    case disabled
    case kindDisabled = "kind_disabled"
    case notFavourite = "not_favourite"
    /// The user turned off the notifications of this favourite.
    case favouriteOff = "favourite_off"
    case communityDisabled = "community_disabled"
    /// The user turned off this broadcaster's broadcasts in this community.
    case favouriteCommunityDisabled = "favourite_community_disabled"
    /// A notification about the broadcaster reached the user less than ``PipelineConfiguration/cooldown`` ago.
    case cooldown
    /// Every device of the user received the message over an open socket.
    case connected
    case noDevice = "no_device"
}

/// The rules for notifications, in order of evaluation; the first rule that excludes the user is the logged reason.
struct Rules: Sendable {
    /// The minimum seconds between two accepted notifications about a broadcaster, for users with that option.
    let cooldown: TimeInterval

    static let quietReason = "quiet_hours"

    /// Decides about a notification for one user.
    ///
    /// - Parameters:
    ///   - notification: the notification.
    ///   - person: the recipient's settings.
    ///   - hasDevice: whether a device is left to send to.
    ///   - isConnected: whether the sender excluded all devices of the user because they have an open socket.
    ///   - clock: computes the end of quiet hours.
    /// - Returns: the decision of the first rule that applies.
    func decide(
        _ notification: PendingNotification,
        for person: RecipientSettings,
        hasDevice: Bool,
        isConnected: Bool = false,
        _ clock: inout QuietHoursClock
    ) -> RuleDecision {
        if notification.isCancelled { return .cancelled }
        if notification.expires <= clock.now { return .expired }
        // A silent change of a network updates the app's data; settings and quiet hours apply to alerts only.
        if notification.isSilentChange { return hasDevice ? .send : .withhold(.noDevice) }
        if let reason = withholdingReason(to: notification, of: person, at: clock.now) { return .withhold(reason) }
        guard hasDevice else { return .withhold(isConnected ? .connected : .noDevice) }
        if let hours = person.quietHours, let end = clock.end(of: hours) { return .hold(until: end) }
        return .send
    }

    private func withholdingReason(
        to notification: PendingNotification,
        of person: RecipientSettings,
        at now: Date
    ) -> WithholdingReason? {
        guard person.isEnabled else { return .disabled }
        // Users cannot turn off the application's own notifications by kind.
        if notification.kind != .server, person.disabledKinds.contains(notification.kind.rawValue) {
            return .kindDisabled
        }
        guard notification.kind == .broadcast else { return nil }
        guard let favourite = person.favourite else { return .notFavourite }
        guard favourite.notify else { return .favouriteOff }
        if let community = notification.community {
            if person.disabledCommunities.contains(community) { return .communityDisabled }
            if favourite.disabledCommunities.contains(community) { return .favouriteCommunityDisabled }
        }
        if favourite.cooldown, let last = favourite.lastAccepted, now < last.addingTimeInterval(cooldown) {
            return .cooldown
        }
        return nil
    }

    /// Returns the sound: for a broadcast the user's choice for the broadcaster, else the sender's choice.
    func sound(of notification: PendingNotification, for person: RecipientSettings) -> String? {
        guard notification.isShown else { return nil }
        let chosen = notification.kind == .broadcast ? person.favourite?.sound : notification.sound
        return chosen.flatMap(NotificationSound.named) ?? NotificationSound.standard
    }
}
