import Foundation
import Postgres
import PushAPI
import ServiceHost
import Wire

/// The rules of favourites: each is one's own, and one that was removed is not brought back but by its owner.
struct Subscriptions: Sendable {
    private static let list = "subscriptions"
    /// Bytes of an icon's address.
    private static let maximumURL = 2_048

    let database: PostgresPool
    let cursors: CursorSigner
    /// How many one may have; as many that were removed are remembered.
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
            throw APIError(.notFound, "subscription_not_found", "this is none of your favourites")
        }
        return found
    }

    /// Changes what is named; of a new one the rest is as a favourite begins.
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
            // What waits for the end of quiet hours is decided anew.
            try await HeldStore(db: db).release(user, at: now())
            if isNew, try await store.count(of: user, upTo: maximum + 1) > maximum {
                let message = "one may have \(maximum) favourites"
                throw APIError(.unprocessable, "too_many_subscriptions", message)
            }
            return subscription
        }
    }

    /// Removes it for good: no import brings it back.
    func remove(_ broadcaster: String, of user: User.ID) async throws -> SubscriptionRemoval {
        let name = try Self.name(broadcaster)
        try await database.transaction { db in
            let store = SubscriptionStore(db: db)
            try await store.remove(name.folded, of: user, at: now())
            try await store.trimRemoved(of: user, to: maximum)
        }
        return SubscriptionRemoval()
    }

    /// Adds those that are none yet and never were; names that nobody can have are left out.
    func add(_ found: SubscriptionImport) async throws -> ImportedSubscriptions {
        guard found.broadcasters.count <= SubscriptionImport.maximum else {
            let message = "may have \(SubscriptionImport.maximum) entries"
            throw APIError.invalid("broadcasters", message, code: "too_many")
        }
        var new: [NewSubscription] = []
        for one in found.broadcasters {
            // Silence: what another network calls its people is not the caller's choice.
            guard let name = try? FoldedName(one.name, field: "name") else { continue }
            let icon = try? one.iconUrl.map(Self.icon)
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
            let known = NotificationSound.names.sorted().joined(separator: ", ")
            throw APIError.invalid("sound", "there is no such sound; there are \(known)", code: "unknown_sound")
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
