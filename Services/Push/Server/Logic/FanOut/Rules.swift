import Foundation
import PushAPI
import Wire

/// What is done about a notification for one person.
enum RuleDecision: Hashable, Sendable {
    case send
    /// He is to be left in peace, for this reason.
    case withhold(WithholdingReason)
    /// Kept until then, and decided anew.
    case hold(until: Date)
    case expired
    case cancelled
}

/// Why somebody is not notified, as the log says it.
enum WithholdingReason: String, Sendable, CaseIterable {
    /// He has switched all of it off.
    case disabled
    /// He has switched off what is of this kind.
    case kindDisabled = "kind_disabled"
    case notFavourite = "not_favourite"
    /// The broadcaster is a favourite that is not to be notified of.
    case favouriteOff = "favourite_off"
    /// He wants no broadcasts from there.
    case communityDisabled = "community_disabled"
    /// He wants none of this broadcaster from there.
    case favouriteCommunityDisabled = "favourite_community_disabled"
    /// Something about the broadcaster reached him a short while ago.
    case cooldown
    /// Every device of the user has an open socket of its own, by which it received the message.
    case connected
    /// There is no device that can be notified.
    case noDevice = "no_device"
}

/// The rules for every kind of notification, in the order in which they are asked; the first that says no is the reason.
struct Rules: Sendable {
    /// Seconds from what a push service last accepted about a broadcaster to the next, for who wants it so.
    let cooldown: TimeInterval

    static let quietReason = "quiet_hours"

    /// - Parameters:
    ///   - notification: what is to be sent.
    ///   - person: what is known of the recipient.
    ///   - hasDevice: whether a device is left to send it to.
    ///   - isConnected: whether the only devices are ones that the sender of the notification excepted.
    ///   - clock: says when quiet hours end.
    /// - Returns: what is done about the notification.
    func decide(
        _ notification: PendingNotification,
        for person: RecipientSettings,
        hasDevice: Bool,
        isConnected: Bool = false,
        _ clock: inout QuietHoursClock
    ) -> RuleDecision {
        if notification.isCancelled { return .cancelled }
        if notification.expires <= clock.now { return .expired }
        // A silent change of a network updates what an app shows; settings and quiet hours are about alerts.
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
        // What the application itself says cannot be switched off by kind.
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

    /// What is heard: of a broadcast what was chosen for the broadcaster, else what the sender named.
    func sound(of notification: PendingNotification, for person: RecipientSettings) -> String? {
        guard notification.isShown else { return nil }
        let chosen = notification.kind == .broadcast ? person.favourite?.sound : notification.sound
        return chosen.flatMap(NotificationSound.named) ?? NotificationSound.standard
    }
}
