import AuthAPI
import ConversationsAPI
import Credentials
import Foundation
import Postgres
import struct PushAPI.DeviceChanged
import ServiceHost
import Wire

/// The rules of devices: a device is stored when it signs in or when push registers it.
///
/// Push owns the push registrations, and its events are copied here. A registration that a device states by its sign-in or
/// by `devices/updatePushToken` is shown at once, until push's event about it arrives.
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
                    pushToken: registration.flatMap(Self.token),
                    platform: registration?.platform,
                    session: identity.session,
                    serial,
                    of: user
                )
            }
            return try await Self.device(serial, of: devices.owner(user))
        }
    }

    /// Returns the token in the form in which push stores it; nil for a token that push does not register.
    private static func token(of registration: PushRegistration) -> String? {
        guard let platform = PushPlatform(rawValue: registration.platform), let token = registration.pushToken else {
            return nil
        }
        // Auth rejects malformed tokens; a session of an earlier release may have one.
        return try? PushToken(token, of: platform, field: "pushToken").text
    }

    /// Copies a registration that push has made, replaced or removed.
    ///
    /// - Parameters:
    ///   - changed: the event.
    ///   - moment: the time of the event, when a new device counts as seen.
    ///   - db: the transaction that processes the event.
    /// - Throws: a `PostgresError`.
    func accept(_ changed: DeviceChanged, at moment: Date, in db: PostgresTransaction) async throws {
        let devices = DeviceStore(db: db)
        if changed.isRegistered {
            try await MemberStore(db: db).ensureUsers([changed.userId], of: changed.applicationId)
            try await devices.insert(changed.deviceId, of: changed.user, at: moment, limit: Self.maximum)
        }
        try await devices.apply(changed)
    }

    func update(
        _ change: PushTokenChange,
        of serial: String,
        in session: String,
        _ user: User.ID
    ) async throws -> Device {
        let named = try change.platform.map { name in
            guard let platform = PushPlatform(rawValue: name) else {
                throw APIError.invalid("platform", "\"platform\" must be one of \(PushPlatform.names)")
            }
            return platform
        }
        return try await database.transaction { db in
            let devices = DeviceStore(db: db)
            var platform = named
            if platform == nil {
                platform = try await devices.platform(serial, of: user).flatMap(PushPlatform.init(rawValue:))
            }
            guard let platform else { throw APIError.missing("platform") }
            let token = try PushToken(change.pushToken, of: platform, field: "pushToken").text
            guard
                try await devices.set(
                    pushToken: token,
                    platform: platform.rawValue,
                    session: session,
                    serial,
                    of: user,
                    at: now()
                )
            else { throw Self.notFound }
            let device = try await Self.device(serial, of: devices.owner(user))
            let registered = DeviceRegistered(
                applicationId: user.application,
                userId: user.user,
                sessionId: session,
                deviceId: serial,
                platform: platform.rawValue,
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
                sessionId: session,
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
