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
        pushToken = try draft.pushToken.map { [platform] token in
            guard let platform else { throw APIError.missing("platform") }
            return try PushToken(token, of: platform, field: "pushToken").text
        }
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
