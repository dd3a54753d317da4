import Foundation
import Postgres
import PushAPI
import ServiceHost
import Wire

/// The rules of favourites: only the owner changes a favourite, and imports never restore a removed favourite.
struct Subscriptions: Sendable {
    private static let list = "subscriptions"
    /// In bytes, for an icon's URL.
    private static let maximumURL = 2_048

    let database: PostgresPool
    let cursors: CursorSigner
    /// The maximum number of favourites per user, and of remembered removals per user.
    let maximum: Int
    let now: @Sendable () -> Date

    func list(of user: User.ID, limit: Int, cursor: String?) async throws -> Page<Subscription> {
        let last = try cursor.map { try cursors.position($0, of: Self.list, for: user, as: String.self) }
        let store = SubscriptionStore(db: database.reads)
        let found = try await store.page(of: user, after: last ?? "", limit: limit + 1)
        let page = found.prefix(limit).map(\.subscription)
        guard found.count > limit, let last = found.prefix(limit).last else { return Page(page) }
        return Page(page, next: try cursors.sign(last.folded, of: Self.list, for: user))
    }

    func show(_ broadcaster: String, to user: User.ID) async throws -> Subscription {
        let name = try Self.name(broadcaster)
        guard let found = try await SubscriptionStore(db: database.reads).find(name.folded, of: user) else {
            throw APIError(.notFound, "subscription_not_found", "the broadcaster is not one of your favourites")
        }
        return found
    }

    /// Changes the given options; a new favourite gets defaults for the others.
    func update(
        _ broadcaster: String,
        _ changes: SubscriptionChanges,
        by user: User.ID
    ) async throws -> Subscription {
        let name = try Self.name(broadcaster)
        let update = SubscriptionUpdate(
            notify: changes.notify,
            cooldown: changes.cooldown,
            sound: try changes.sound.map(Self.sound),
            disabledCommunities: try changes.disabledCommunities.map(FoldedName.communities),
            changesIcon: changes.iconUrl.isGiven,
            icon: try changes.iconUrl.value.map(Self.icon)
        )
        return try await database.transaction { db in
            let store = SubscriptionStore(db: db)
            let isNew = try await store.find(name.folded, of: user) == nil
            let subscription = try await store.upsert(name, update, of: user)
            // Held notifications are decided again with the new options.
            try await HeldStore(db: db).release(user, at: now())
            if isNew, try await store.count(of: user, upTo: maximum + 1) > maximum {
                let message = "a user can have at most \(maximum) favourites"
                throw APIError(.unprocessable, "too_many_subscriptions", message)
            }
            return subscription
        }
    }

    /// Removes a favourite; imports do not restore it.
    func remove(_ broadcaster: String, of user: User.ID) async throws -> SubscriptionRemoval {
        let name = try Self.name(broadcaster)
        try await database.transaction { db in
            let store = SubscriptionStore(db: db)
            try await store.remove(name.folded, of: user, at: now())
            try await store.trimRemoved(of: user, to: maximum)
        }
        return SubscriptionRemoval()
    }

    /// Adds favourites that the user never had; skips invalid names.
    func add(_ found: SubscriptionImport) async throws -> ImportedSubscriptions {
        guard found.broadcasters.count <= SubscriptionImport.maximum else {
            let message = "must have at most \(SubscriptionImport.maximum) entries"
            throw APIError.invalid("broadcasters", message, code: "too_many")
        }
        var new: [NewSubscription] = []
        for broadcaster in found.broadcasters {
            // The caller did not choose the names of another network, so an invalid name is not an error.
            guard let name = try? FoldedName(broadcaster.name, field: "name") else { continue }
            let icon = try? broadcaster.iconUrl.map(Self.icon)
            new.append(NewSubscription(name: name, icon: icon))
        }
        let user = User.ID(application: found.applicationId, user: found.userId)
        return try await database.transaction { db in
            let store = SubscriptionStore(db: db)
            let room = maximum - (try await store.count(of: user, upTo: maximum))
            return ImportedSubscriptions(added: try await store.add(new, to: user, upTo: room))
        }
    }

    private static func name(_ text: String) throws -> FoldedName { try FoldedName(text, field: "broadcaster") }

    private static func sound(_ name: String) throws -> String {
        guard let sound = NotificationSound.named(name) else {
            let names = NotificationSound.names.sorted().joined(separator: ", ")
            throw APIError.invalid("sound", "\"sound\" must be one of \(names)", code: "unknown_sound")
        }
        return sound
    }

    private static func icon(_ url: String) throws -> String {
        let parts = URLComponents(string: url, encodingInvalidCharacters: false)
        guard let parts, ["http", "https"].contains(parts.scheme), parts.host?.isEmpty == false,
            url.utf8.count <= maximumURL
        else {
            throw APIError.invalid("iconUrl", "must be an http or https URL of at most \(maximumURL) bytes")
        }
        return url
    }
}
