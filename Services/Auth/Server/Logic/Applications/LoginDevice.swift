import AuthAPI
import Foundation
import Wire

struct LoginDevice: Sendable {
    let id: DeviceID
    let platform: PushPlatform?
    let pushToken: String?

    /// - Throws: a 400 for the invalid field.
    init(_ draft: ApplicationLoginDraft) throws {
        id = try DeviceID(draft.deviceId)
        platform = try draft.platform.map { name in
            guard !name.isEmpty else { throw APIError.missing("platform") }
            guard let platform = PushPlatform(rawValue: name) else {
                let message = "a platform must be one of \(PushPlatform.names)"
                throw APIError.invalid("platform", message, code: "unknown_platform")
            }
            return platform
        }
        if let token = draft.pushToken {
            guard !token.isEmpty else { throw APIError.missing("pushToken") }
            guard token.utf8.count <= PushPlatform.maximumToken else {
                let message = "a push token must have at most \(PushPlatform.maximumToken) bytes"
                throw APIError.invalid("pushToken", message, code: "push_token_length")
            }
            guard platform != nil else { throw APIError.missing("platform") }
        }
        pushToken = draft.pushToken
    }

    /// Returns the event that registers the device for push; nil without a platform and a push token.
    func registered(in session: SessionStore.Record) -> DeviceRegistered? {
        guard let platform, let pushToken else { return nil }
        return DeviceRegistered(
            applicationId: session.user.application,
            userId: session.user.user,
            sessionId: session.id.wire,
            deviceId: id.text,
            platform: platform.rawValue,
            pushToken: pushToken
        )
    }
}
