import AuthAPI
import ConversationsAPI
import Credentials
import Foundation
import Postgres
import ServiceHost
import Wire

/// The rules of devices: a device is stored when it signs in, and sets its own push registration.
struct Devices: Sendable {
    /// The maximum number of devices of a user; one more replaces the device that was seen least recently.
    static let maximum = 50

    let database: PostgresPool
    let events: EventOutbox
    let now: @Sendable () -> Date

    /// Returns the device that a user signs in with, registered for push as stated at the session's sign-in.
    func signIn(by identity: Identity) async throws -> Device {
        let (serial, user) = (identity.device ?? identity.session, identity.user)
        let storedRegistration = try await DeviceStore(db: database.reads).storedRegistration(serial, of: user)
        // A JWT names no device, so each of its sessions is a separate device and has no registration.
        let isRegistered = identity.device == nil || storedRegistration?.session == identity.session
        if let storedRegistration, isRegistered {
            if storedRegistration.seenAt < now().addingTimeInterval(-86_400) {
                try await DeviceStore(db: database).note(serial, of: user, seenAt: now())
            }
            return try await show(serial, of: user)
        }
        return try await database.transaction { db in
            let devices = DeviceStore(db: db)
            if storedRegistration == nil {
                try await MemberStore(db: db).ensureUsers([user.user], of: user.application)
                try await devices.insert(serial, of: user, at: now(), limit: Self.maximum)
            }
            if identity.device != nil {
                let registration = identity.registration
                try await devices.register(
                    pushToken: registration?.pushToken.flatMap(Self.cleaned),
                    platform: registration?.platform,
                    session: identity.session,
                    serial,
                    of: user
                )
            }
            return try await Self.device(serial, of: devices.owner(user))
        }
    }

    /// Returns a push token without the brackets and spaces of old iOS versions; nil for an empty or too long token.
    private static func cleaned(_ token: String) -> String? {
        let token = String(token.filter { !"<> ".contains($0) })
        return token.isEmpty || token.utf8.count > PushPlatform.maximumToken ? nil : token
    }

    func update(
        _ change: PushTokenChange,
        of serial: String,
        in session: String,
        _ user: User.ID
    ) async throws -> Device {
        let token = String(change.pushToken.filter { !"<> ".contains($0) })
        guard !token.isEmpty else { throw APIError.missing("pushToken") }
        guard token.utf8.count <= PushPlatform.maximumToken else {
            throw APIError.invalid(
                "pushToken",
                "\"pushToken\" may have at most \(PushPlatform.maximumToken) bytes",
                code: "too_long"
            )
        }
        let platform = change.platform
        guard platform.map({ PushPlatform(rawValue: $0) != nil }) ?? true else {
            throw APIError.invalid("platform", "\"platform\" must be one of \(PushPlatform.names)")
        }
        return try await database.transaction { db in
            let devices = DeviceStore(db: db)
            guard
                try await devices.set(
                    pushToken: token,
                    platform: platform,
                    session: session,
                    serial,
                    of: user,
                    at: now()
                )
            else { throw APIError.missing("platform") }
            let device = try await Self.device(serial, of: devices.owner(user))
            let registered = DeviceRegistered(
                applicationId: user.application,
                userId: user.user,
                sessionId: session,
                deviceId: serial,
                platform: device.summary.platform ?? "",
                pushToken: token
            )
            try await events.write(registered, in: db)
            return device
        }
    }

    func update(
        _ change: BadgeChange,
        of serial: String,
        in session: String,
        _ user: User.ID
    ) async throws -> Device {
        guard (0...1_000_000).contains(change.badge) else {
            throw APIError.invalid("badge", "\"badge\" must be a number from 0 to 1,000,000")
        }
        return try await database.transaction { db in
            let devices = DeviceStore(db: db)
            guard try await devices.set(badge: change.badge, serial, of: user) else { throw Self.notFound }
            let event = DeviceBadge(
                applicationId: user.application,
                userId: user.user,
                deviceId: serial,
                badge: change.badge
            )
            try await events.write(event, in: db)
            return try await Self.device(serial, of: devices.owner(user))
        }
    }

    /// Replaces the data that the app stored about its device, which only the device's owner sees.
    func replaceMeta(_ meta: JSONValue, of serial: String, _ user: User.ID) async throws -> Device {
        let compact = try DraftRules.meta(meta)
        return try await database.transaction { db in
            let devices = DeviceStore(db: db)
            guard try await devices.set(meta: compact, serial, of: user) else { throw Self.notFound }
            return try await Self.device(serial, of: devices.owner(user))
        }
    }

    /// Replaces the user's `meta`, which is shown with each of the user's messages.
    func replaceMeta(_ meta: JSONValue, of user: User.ID) async throws -> Device.Owner {
        let compact = try DraftRules.meta(meta)
        return try await database.transaction { db in
            try await MemberStore(db: db).ensureUsers([user.user], of: user.application)
                sessionId: session,
            let store = DeviceStore(db: db)
            try await store.set(meta: compact, of: user)
            guard let owner = try await store.owner(user) else { throw Self.notFound }
            return owner
        }
    }

    private func show(_ serial: String, of user: User.ID) async throws -> Device {
        guard let device = try await find(serial, of: user) else { throw Self.notFound }
        return device
    }

    private func find(_ serial: String, of user: User.ID) async throws -> Device? {
        let owner = try await DeviceStore(db: database.reads).owner(user)
        guard let owner, owner.devices.contains(where: { $0.serial.isExactly(serial) }) else { return nil }
        return try Self.device(serial, of: owner)
    }

    private static func device(_ serial: String, of owner: Device.Owner?) throws -> Device {
        guard let owner, let summary = owner.devices.first(where: { $0.serial.isExactly(serial) }) else {
            throw notFound
        }
        return Device(summary, of: owner)
    }

    private static let notFound = APIError(.notFound, "device_not_found", "there is no such device")
}
