public import Foundation
import Locks
import NIOCore
public import NetworkGuard

/// Sends notifications to browsers (RFC 8030), encrypted for each of them (RFC 8291) and signed by VAPID (RFC 8292).
///
/// Who subscribes names the push service, so it may be anybody's: only addresses that ``AddressGuard`` permits are
/// connected to, redirects are not followed, little of an answer is read, and nothing of one service's holds up another's.
public final class WebPushClient: PushProvider {
    /// How.
    public struct Configuration: Sendable {
        /// Whom may be connected to.
        public var addresses = AddressGuard()
        /// Certificates, PEM, that are trusted beside the system's.
        public var trustedAuthorities: String?
        /// How many connections there may be to one push service; one of HTTP/2 takes many requests.
        public var connections = 8
        public var connectTimeout: Duration = .seconds(5)
        /// From being asked to the end of the answer.
        public var requestTimeout: Duration = .seconds(15)
        /// How long a push service is to keep what has no end of its own: four weeks, as most do at most.
        public var defaultLife: Duration = .seconds(28 * 86_400)

        public init() {}
    }

    /// How many push services are kept connected.
    private static let origins = 256

    private let tokens: VAPIDTokens
    private let configuration: Configuration
    private let connector: Connector
    private let pools = Lock(Pools())
    private let now: @Sendable () -> Date

    private struct Pools {
        var open: [Origin: ConnectionPool] = [:]
        var isShutDown = false
    }

    /// - Parameters:
    ///   - key: whom push services know the sender by.
    ///   - subject: where they reach who runs it, `mailto:` or `https:`.
    ///   - configuration: how.
    ///   - now: the time, for tokens and for what has expired.
    /// - Throws: `PushCredentialsError` where the subject or a certificate cannot be used.
    public init(
        key: VAPIDKey,
        subject: String,
        configuration: Configuration = Configuration(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        guard subject.hasPrefix("mailto:") || subject.hasPrefix("https://") else {
            throw PushCredentialsError("the VAPID subject begins with neither mailto: nor https://")
        }
        tokens = VAPIDTokens(key: key, subject: subject, now: now)
        connector = try Connector(
            versions: .any,
            authorities: configuration.trustedAuthorities,
            addressGuard: configuration.addresses
        )
        self.configuration = configuration
        self.now = now
    }

    public func send(_ message: PushMessage, to target: PushTarget) async -> PushReply {
        guard case .web(let endpoint, let p256dh, let auth) = target else {
            return PushReply(.refused, reason: "WrongTarget")
        }
        guard let address = HTTPAddress(endpoint), isEncrypted(address.origin) else {
            return PushReply(.refused, reason: "BadEndpoint")
        }
        // A name is judged once more when its connection is opened, by the address.
        guard mayConnect(address.origin) else { return TransportFailure.forbiddenAddress.reply }
        guard let encryption = WebPushEncryption(p256dh: p256dh, auth: auth) else {
            return PushReply(.refused, reason: "BadKeys")
        }
        guard let payload = WebPushPayload.encode(message) else {
            return PushReply(.tooLarge, reason: "PayloadTooLarge")
        }
        do {
            let body = try encryption.encrypt(payload)
            var request = OutgoingRequest(to: address.origin, path: address.path, body: ByteBuffer(bytes: body))
            try addFields(of: message, for: address.origin, to: &request)
            return await send(request, to: address.origin)
        } catch {
            return PushReply(.refused, reason: "BadKeys")
        }
    }

    /// The operator's exceptions may be reached without TLS.
    private func isEncrypted(_ origin: Origin) -> Bool {
        origin.isSecure || configuration.addresses.allows(host: origin.host, port: origin.port)
    }

    private func mayConnect(_ origin: Origin) -> Bool {
        configuration.addresses.mayConnect(host: origin.host, port: origin.port, isSecure: origin.isSecure)
    }

    private func addFields(of message: PushMessage, for origin: Origin, to request: inout OutgoingRequest) throws {
        request.add("authorization", try tokens.authorization(for: origin))
        request.add("content-type", "application/octet-stream")
        request.add("content-encoding", "aes128gcm")
        let life = message.expires.map { max(0, Int($0.timeIntervalSince(now()))) }
        request.add("ttl", String(life ?? Int(configuration.defaultLife.components.seconds)))
        request.add("urgency", urgency(of: message))
        if let key = message.collapseKey {
            request.add(unique: "topic", CollapseID.make(key, limit: 32, isAllowed: Self.isTopicCharacter))
        }
    }

    private func urgency(of message: PushMessage) -> String {
        switch (message.kind, message.priority) {
        case (.voip, _), (.alert, .high): "high"
        case (.background, .high), (_, .normal): "normal"
        case (_, .low): "low"
        }
    }

    /// RFC 8030, section 5.4: base64url's characters.
    private static func isTopicCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private func send(_ request: OutgoingRequest, to origin: Origin) async -> PushReply {
        guard let pool = pool(for: origin) else { return TransportFailure.shutDown.reply }
        switch await pool.send(request) {
        case .failure(let failure): return failure.reply
        case .success(let response): return WebPushResponse(response, now: now()).reply
        }
    }

    /// The connections to a push service; those of services that nobody writes to any more are let go.
    private func pool(for origin: Origin) -> ConnectionPool? {
        pools.withLock { pools in
            if let pool = pools.open[origin] { return pool }
            guard !pools.isShutDown else { return nil }
            pools.open = pools.open.filter { !$0.value.isUnused }
            var settings = PoolSettings()
            settings.connections = max(1, configuration.connections)
            settings.connectTimeout = TimeAmount(configuration.connectTimeout)
            settings.requestTimeout = TimeAmount(configuration.requestTimeout)
            // With many services, as somebody could make up, a connection is not kept longer than it is needed.
            settings.idleTimeout = pools.open.count < Self.origins ? .seconds(60) : .milliseconds(1)
            let pool = ConnectionPool(origin: origin, connector: connector, settings: settings)
            pools.open[origin] = pool
            return pool
        }
    }

    public func shutdown() async {
        let open = pools.withLock { pools in
            pools.isShutDown = true
            defer { pools.open = [:] }
            return Array(pools.open.values)
        }
        for pool in open { await pool.shutdown() }
    }
}
