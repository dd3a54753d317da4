import Foundation
import NIOCore
import Wire

/// Apple's rules for a notification, in the order in which APNs checks them, without any connection state.
struct APNs: Sendable {
    let tokens: ProviderTokens
    let devices: APNsDevices
    let script: Script
    let received: ReceivedNotifications
    let now: @Sendable () -> Date

    struct Outcome {
        enum Action {
            case accepted
            case refused(status: Int, reason: String, timestamp: Int64? = nil, retryAfter: Int? = nil)
            case silence
            case reset
            case goAway(reason: String)
        }

        /// `apns-id`: sent by the provider, or made by APNs.
        let id: String
        let action: Action
        var delay: TimeAmount?
    }

    private static let prefix = "/3/device"
    private static let collapseLimit = 64
    private static let topicLimit = 256

    /// Decides about a request whose body has been read.
    ///
    /// An oversized body may be incomplete.
    func validate(
        _ request: APNsRequest,
        body: ByteBuffer,
        environment: AppleEnvironment,
        session: inout ProviderTokens.Session
    ) -> Outcome {
        let id = request.id.flatMap { Self.isUUID($0) ? $0 : nil } ?? UUID().uuidString
        do throws(APNsError) {
            let device = try check(request, body: body, environment: environment, session: &session)
            guard let rule = script.follow(.apns, token: device) else {
                accept(request, body: body, device: device, id: id, environment: environment)
                return Outcome(id: id, action: .accepted)
            }
            if rule.accepts ?? rule.isLenient {
                accept(request, body: body, device: device, id: id, environment: environment)
            }
            let action = action(of: rule)
            if case .refused(let status, let reason, _, _) = action {
                received.reject(.apns, status: status, reason: reason)
                if status == 403 { session.forgetToken() }
            }
            return Outcome(id: id, action: action, delay: rule.delay.map { .milliseconds(Int64($0 * 1_000)) })
        } catch {
            let reason = error.reason
            received.reject(.apns, status: reason.status, reason: reason.rawValue)
            if reason == .expiredProviderToken { session.forgetToken() }
            return Outcome(id: id, action: .refused(status: reason.status, reason: reason.rawValue))
        }
    }

    // MARK: Validation

    /// Returns the device token of a request that follows all of Apple's rules.
    private func check(
        _ request: APNsRequest,
        body: ByteBuffer,
        environment: AppleEnvironment,
        session: inout ProviderTokens.Session
    ) throws(APNsError) -> String {
        guard request.method == "POST" else { throw APNsError(.methodNotAllowed) }
        let device = try device(of: request.path)
        guard !request.hasDuplicates else { throw APNsError(.duplicateHeaders) }
        if let id = request.id, !Self.isUUID(id) { throw APNsError(.badMessageId) }
        let token = try tokens.validate(request.authorization, in: &session)
        guard APNsDevices.isToken(device) else { throw APNsError(.badDeviceToken) }
        let type = try check(request, of: token.account, device: device, environment: environment)
        try check(body, of: type)
        return device
    }

    private func device(of path: String) throws(APNsError) -> String {
        guard path.hasPrefix(Self.prefix) else { throw APNsError(.badPath) }
        let rest = path.dropFirst(Self.prefix.count)
        guard rest != "", rest != "/" else { throw APNsError(.missingDeviceToken) }
        guard rest.hasPrefix("/"), !rest.dropFirst().contains("/") else { throw APNsError(.badPath) }
        return String(rest.dropFirst())
    }

    private func check(
        _ request: APNsRequest,
        of account: DeveloperAccount,
        device: String,
        environment: AppleEnvironment
    ) throws(APNsError) -> APNsPushType {
        let pinned = devices.device(device)
        if let own = pinned?.environment, own != environment { throw APNsError(.badDeviceToken) }
        guard let topic = request.topic, !topic.isEmpty else { throw APNsError(.missingTopic) }
        guard topic.utf8.count <= Self.topicLimit else { throw APNsError(.badTopic) }
        guard let type = APNsPushType(rawValue: request.pushType ?? "alert") else {
            throw APNsError(.invalidPushType)
        }
        guard let app = type.app(ofTopic: topic), app == account.topic else { throw APNsError(.topicDisallowed) }
        if let own = pinned?.topic, app != own { throw APNsError(.deviceTokenNotForTopic) }
        switch request.priority ?? "10" {
        case "5": break
        // Apple: "Always use priority 5. Using priority 10 is an error". A missing priority means 10.
        case "1", "10": if type == .background { throw APNsError(.badPriority) }
        default: throw APNsError(.badPriority)
        }
        if let expiration = request.expiration, UInt64(expiration) == nil { throw APNsError(.badExpirationDate) }
        if let id = request.collapseID, !(1...Self.collapseLimit ~= id.utf8.count) { throw APNsError(.badCollapseId) }
        return type
    }

    private func check(_ body: ByteBuffer, of type: APNsPushType) throws(APNsError) {
        guard body.readableBytes > 0 else { throw APNsError(.payloadEmpty) }
        guard body.readableBytes <= type.payloadLimit else { throw APNsError(.payloadTooLarge) }
        guard let value = try? JSONParser.parse(body.readableBytesView), case .object = value else {
            throw APNsError(.malformedPayload)
        }
    }

    /// The current time in milliseconds since 1970.
    var milliseconds: Int64 { Int64(now().timeIntervalSince1970 * 1_000) }

    // MARK: Effects

    private func accept(
        _ request: APNsRequest,
        body: ByteBuffer,
        device: String,
        id: String,
        environment: AppleEnvironment
    ) {
        received.accept(
            IncomingNotification(
                service: .apns,
                environment: environment,
                device: device.lowercased(),
                id: id.lowercased(),
                fields: request.fields,
                payload: Array(body.readableBytesView)
            )
        )
    }

    private func action(of rule: ScriptRule) -> Outcome.Action {
        switch rule.behaviour {
        case .silence: return .silence
        case .reset: return .reset
        case .goaway: return .goAway(reason: rule.reason ?? APNsReason.shutdown.rawValue)
        case .response, .html, .cut, .malformed, .large, .empty, .expire:
            if rule.isLenient { return .accepted }
            let status = rule.status ?? rule.reason.flatMap(APNsReason.init)?.status ?? 400
            let timestamp = status == 410 ? rule.timestamp ?? milliseconds : nil
            return .refused(
                status: status,
                reason: rule.reason ?? APNsReason.usual(for: status),
                timestamp: timestamp,
                retryAfter: rule.retryAfter
            )
        }
    }

    static func isUUID(_ text: String) -> Bool {
        guard text.utf8.count == 36 else { return false }
        return text.utf8.enumerated().allSatisfy { index, byte in
            switch index {
            case 8, 13, 18, 23: byte == UInt8(ascii: "-")
            default: byte.isHexDigit
            }
        }
    }
}
