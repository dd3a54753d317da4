import AuthAPI
import NetworkGuard
import struct ConversationsAPI.DeviceBadge
import Credentials
import Foundation
import Logging
import Messages
import Postgres
import PushAPI
import ServiceHost
import Wire

/// The rules of devices: a token belongs to one device, and a device to the session that registered it.
struct Devices: Sendable {
    private static let list = "devices"
    private static let deviceIDLength = 1...255

    let database: PostgresPool
    let cursors: CursorSigner
    let hosts: AddressGuard
    /// The maximum number of devices per user; one more removes the device that was seen longest ago.
    let maximum: Int
    let owners: DeviceOwners
    let logger: Logger
    let now: @Sendable () -> Date

    /// Registers a device; removes its token from any other device in the application.
    func register(_ draft: DeviceDraft, by identity: Identity) async throws -> Device {
        let named = try draft.deviceId.map(Self.deviceID)
        let registration = DeviceRegistration(
            user: identity.user,
            deviceID: named ?? identity.device ?? identity.session,
            session: identity.session,
            address: try DeviceAddress(draft, hosts: hosts),
            texts: DeviceTexts(
                language: try draft.language.map { try LanguageTag($0, field: "language").description },
                locKeys: draft.locKeys ?? false
            )
        )
        let record = try await database.transaction { db in try await add(registration, in: db) }
        guard let record else { throw APIError(.forbidden, "session_ended", "the session has ended") }
        return record.device(seenBy: identity.session)
    }

    func list(of identity: Identity, limit: Int, cursor: String?) async throws -> Page<Device> {
        let last = try cursor.map { try cursors.position($0, of: Self.list, for: identity.user, as: Int64.self) }
        let store = DeviceStore(db: database.reads)
        let found = try await store.page(of: identity.user, after: last ?? 0, limit: limit + 1)
        let page = found.prefix(limit)
        let devices = page.map { $0.device(seenBy: identity.session) }
        guard found.count > limit, let last = page.last else { return Page(devices) }
        return Page(devices, next: try cursors.sign(last.key, of: Self.list, for: identity.user))
    }

    func remove(_ id: String, of user: User.ID) async throws -> DeviceRemoval {
        guard let key = Int64(id), "\(key)" == id, try await DeviceStore(db: database).delete(key, of: user) else {
            throw APIError(.notFound, "device_not_found", "there is no such device")
        }
        return DeviceRemoval()
    }

    /// Registers the device of an event: a sign-in with a token, or a token that the client sent to conversations.
    ///
    /// An unusable token is ignored, because the sender of a failed event would repeat it forever.
    func accept(_ registered: DeviceRegistered, in db: PostgresTransaction) async throws {
        let address: DeviceAddress
        do {
            guard let platform = DevicePlatform(rawValue: registered.platform), platform != .web,
                Self.deviceIDLength.contains(registered.deviceId.unicodeScalars.count)
            else { throw APIError.missing("platform") }
            address = try DeviceAddress(platform, token: registered.pushToken)
        } catch let error as APIError {
            logger.notice("device of an event is unusable", metadata: ["code": "\(error.code)"])
            return
        }
        let registration = DeviceRegistration(
            user: User.ID(application: registered.applicationId, user: registered.userId),
            deviceID: registered.deviceId,
            session: registered.sessionId,
            address: address
        )
        _ = try await add(registration, in: db)
    }

    /// Stores the user's language; an event from an earlier release has none.
    func accept(_ changed: UserChanged, in db: PostgresTransaction) async throws {
        let languages = UserLanguageStore(db: db)
        let user = User.ID(application: changed.applicationId, user: changed.userId)
        switch changed.language {
        case .unchanged: break
        case .cleared: try await languages.delete(of: user)
        case .set(let text):
            // The sender would repeat a failed event, which would delay all later events of the user.
            guard let tag = LanguageTag(text) else {
                logger.notice("language of an event is malformed", metadata: ["user": "\(changed.userId)"])
                return
            }
            try await languages.set(tag.description, of: user)
        }
    }

    /// Stores the number on the app's icon; ignores an unknown device.
    func accept(_ change: DeviceBadge, in db: PostgresTransaction) async throws {
        let user = User.ID(application: change.applicationId, user: change.userId)
        // Conversations does not limit the number; the table does.
        let badge = min(max(change.badge, 0), 1_000_000)
        try await DeviceStore(db: db).set(badge: badge, of: change.deviceId, user, at: now())
    }

    /// Removes the devices of an ended session, and blocks later registrations in it.
    func accept(_ ended: SessionEnded, in db: PostgresTransaction) async throws {
        let sessions = EndedSessionStore(db: db)
        try await sessions.lock(ended.sessionId)
        try await sessions.insert(ended.sessionId, at: now())
        try await DeviceStore(db: db).delete(registeredIn: ended.sessionId)
    }

    /// Returns nil if the session has ended.
    private func add(_ registration: DeviceRegistration, in db: PostgresTransaction) async throws -> DeviceRecord? {
        let (sessions, devices) = (EndedSessionStore(db: db), DeviceStore(db: db))
        // A transaction that ends this session waits for this lock and then removes the device, or had the lock first.
        try await sessions.lock(registration.session)
        guard try await !sessions.contains(registration.session) else { return nil }
        // Of two concurrent registrations of one token, the second waits and then takes the token over.
        try await devices.lock(registration.address)
        try await devices.delete(holding: registration.address, except: registration.deviceID, of: registration.user)
        let record = try await devices.upsert(registration, at: now())
        try await devices.trim(registration.user, to: maximum)
        try await owners.add(registration.user, in: db)
        return record
    }

    private static func deviceID(_ text: String) throws -> String {
        guard !text.isEmpty else { throw APIError.missing("deviceId") }
        guard deviceIDLength.contains(text.unicodeScalars.count), !text.unicodeScalars.contains(where: \.isControl)
        else {
            let message = "\"deviceId\" must have 1 to 255 characters and no control characters"
            throw APIError.invalid("deviceId", message, code: "malformed_device_id")
        }
        return text
    }
}

extension DeviceRecord {
    fileprivate func device(seenBy session: String) -> Device {
        Device(
            id: "\(key)",
            deviceId: deviceID,
            platform: platform,
            token: shortened,
            registeredAt: registeredAt,
            seenAt: seenAt,
            disabledReason: disabledReason,
            current: self.session == session,
            language: texts.language,
            locKeys: texts.locKeys
        )
    }

    /// The first and last characters of the token; of a browser's endpoint, the host.
    private var shortened: String {
        let tail = token.suffix(token.utf8.count >= 32 ? 4 : 0)
        guard platform == .web else { return "\(token.prefix(token.utf8.count >= 32 ? 4 : 1))…\(tail)" }
        let host = URLComponents(string: token)?.host ?? ""
        return "https://\(host)/…\(tail)"
    }
}
