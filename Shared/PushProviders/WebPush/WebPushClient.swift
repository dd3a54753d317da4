public import Foundation
import Locks
import NIOCore
public import NetworkGuard

/// A client for browsers' push services (RFC 8030), with encryption (RFC 8291) and VAPID signatures (RFC 8292).
///
/// The subscriber chooses the push service, so the client does not trust it. The client connects only to addresses that
/// `AddressGuard` allows, follows no redirects, and reads at most 16 KiB of a response. Each push
/// service has its own connections, so a slow one does not delay the others.
public final class WebPushClient: PushProvider {
    /// The limits of a client.
    public struct Configuration: Sendable {
        /// The rule for the addresses of push services; by default public addresses only.
        public var addresses = AddressGuard()
        /// Certificate authorities in PEM that are trusted in addition to the system's.
        public var trustedAuthorities: String?
        /// The maximum number of connections to each push service.
        public var connections = 8
        /// The time limit for DNS, TCP and TLS together.
        public var connectTimeout: Duration = .seconds(5)
        /// The time limit for a request, including the wait for a connection.
        public var requestTimeout: Duration = .seconds(15)
        /// The lifetime of a notification without ``PushMessage/expires``; 4 weeks are the usual maximum.
        public var defaultLife: Duration = .seconds(28 * 86_400)

        /// Creates a configuration with the default values.
        public init() {}
    }

    /// The number of push services beyond which unused connections are closed immediately.
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

    /// Creates a client; the first request opens a connection.
    ///
    /// - Parameters:
    ///   - key: the key pair of the application server.
    ///   - subject: the operator's contact for push services, a `mailto:` or `https:` URL.
    ///   - configuration: the limits.
    ///   - now: the current time, for tokens and for expiry.
    /// - Throws: ``PushCredentialsError`` if the subject or a certificate is invalid.
    public init(
        key: VAPIDKey,
        subject: String,
        configuration: Configuration = Configuration(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        guard subject.hasPrefix("mailto:") || subject.hasPrefix("https://") else {
            throw PushCredentialsError("the VAPID subject must begin with mailto: or https://")
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

    /// Sends a notification to a target of case ``PushTarget/web(endpoint:p256dh:auth:)``.
    public func send(_ message: PushMessage, to target: PushTarget) async -> PushReply {
        guard case .web(let endpoint, let p256dh, let auth) = target else {
            return PushReply(.refused, reason: "WrongTarget")
        }
        guard let address = HTTPAddress(endpoint), isEncrypted(address.origin) else {
            return PushReply(.refused, reason: "BadEndpoint")
        }
        // A host name is checked again at connect time, by its address.
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

    /// Returns whether the request is encrypted, or the host is one that the operator allows without TLS.
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

    /// Returns whether the byte is allowed in a `Topic` header (RFC 8030, section 5.4).
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

    /// Returns the connections to a push service; drops the pools of unused push services.
    private func pool(for origin: Origin) -> ConnectionPool? {
        pools.withLock { pools in
            if let pool = pools.open[origin] { return pool }
            guard !pools.isShutDown else { return nil }
            pools.open = pools.open.filter { !$0.value.isUnused }
            var settings = PoolSettings()
            settings.connections = max(1, configuration.connections)
            settings.connectTimeout = TimeAmount(configuration.connectTimeout)
            settings.requestTimeout = TimeAmount(configuration.requestTimeout)
            // An attacker can register many push services, so beyond this limit idle connections close immediately.
            settings.idleTimeout = pools.open.count < Self.origins ? .seconds(60) : .milliseconds(1)
            let pool = ConnectionPool(origin: origin, connector: connector, settings: settings)
            pools.open[origin] = pool
            return pool
        }
    }

    /// Rejects new requests, waits for pending replies, and closes the connections.
    public func shutdown() async {
        let open = pools.withLock { pools in
            pools.isShutDown = true
            defer { pools.open = [:] }
            return Array(pools.open.values)
        }
        for pool in open { await pool.shutdown() }
    }
}
