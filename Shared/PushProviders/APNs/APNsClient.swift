public import Foundation
import NIOCore

/// A client for the Apple Push Notification service (APNs), over HTTP/2 with a provider token.
///
/// The client sends HTTP/2 frames through SwiftNIO instead of using a general HTTP client. APNs expects few connections
/// of long duration. Its GOAWAY frames name the requests that it did not process, and a general client reports those as
/// errors. Against a server that sends GOAWAY after every 1,000 requests, 3,654 of 30,000 requests failed that way.
/// This client repeats such requests on the next connection. It is also several times as fast, because requests have no
/// channels of their own.
///
/// A client opens up to ``Configuration/connections`` connections per environment as the load requires. Each connection
/// carries as many concurrent requests as APNs allows, and one until APNs has accepted the token. A connection that
/// receives GOAWAY, or status 500 or 503 after its first 30 s, is replaced. So is a connection without received data
/// for half of the time limit of an expired request. A silent connection is pinged. An unused connection is closed
/// after ``Configuration/idleTimeout``.
public final class APNsClient: PushProvider {
    /// The token-signing key of an Apple developer account.
    ///
    /// Apple can restrict a key to one environment and to some apps.
    public struct Credentials: Sendable {
        /// The content of `AuthKey_….p8`, in PEM.
        public var key: String
        /// The key's identifier, ten characters.
        public var keyID: String
        /// The team's identifier, ten characters.
        public var teamID: String
        /// The app's bundle identifier; notifications of kind ``PushMessage/Kind/voip`` use it with `.voip` appended.
        public var topic: String

        /// Creates credentials; ``APNsClient/init(credentials:configuration:now:)`` validates the key.
        public init(key: String, keyID: String, teamID: String, topic: String) {
            self.key = key
            self.keyID = keyID
            self.teamID = teamID
            self.topic = topic
        }
    }

    /// The addresses and limits of a client; the defaults are those of Apple's servers.
    public struct Configuration: Sendable {
        /// The server for ``APNsEnvironment/production``, as `https://host:port`.
        public var productionURL = "https://api.push.apple.com"
        /// The server for ``APNsEnvironment/sandbox``, as `https://host:port`.
        public var sandboxURL = "https://api.sandbox.push.apple.com"
        /// Certificate authorities in PEM that are trusted in addition to the system's.
        public var trustedAuthorities: String?
        /// The maximum number of connections to each environment.
        public var connections = 4
        /// The maximum number of concurrent requests on a connection; APNs can set a lower limit.
        public var streams = 1_000
        /// The time limit for DNS, TCP and TLS together.
        public var connectTimeout: Duration = .seconds(5)
        /// The time limit for a request, including the wait for a connection.
        public var requestTimeout: Duration = .seconds(15)
        /// The time without received data after which a connection is pinged.
        public var pingInterval: Duration = .seconds(60)
        /// The time after which an unused connection is closed; Apple treats frequent new connections as an attack.
        public var idleTimeout: Duration = .seconds(1_800)
        /// The file extension that is appended to a sound name without a dot, except `default`.
        public var soundSuffix = ".caf"

        /// Creates a configuration with the default values.
        public init() {}
    }

    private let topic: String
    private let payloads: APNsPayload
    private let tokens: ProviderTokens
    private let pools: [APNsEnvironment: ConnectionPool]
    private let now: @Sendable () -> Date

    /// Creates a client; the first request opens a connection.
    ///
    /// - Parameters:
    ///   - credentials: the signing key and the app.
    ///   - configuration: the addresses and limits.
    ///   - now: the current time, for the token and for expiry.
    /// - Throws: ``PushCredentialsError`` if the key is not a P-256 private key, a URL is not `https`, or a certificate
    ///   is invalid.
    public init(
        credentials: Credentials,
        configuration: Configuration = Configuration(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        topic = credentials.topic
        payloads = APNsPayload(soundSuffix: configuration.soundSuffix)
        tokens = try ProviderTokens(credentials, now: now)
        self.now = now
        let connector = try Connector(versions: .http2, authorities: configuration.trustedAuthorities)
        var pools: [APNsEnvironment: ConnectionPool] = [:]
        for (environment, url) in [
            (.production, configuration.productionURL), (APNsEnvironment.sandbox, configuration.sandboxURL),
        ] {
            guard let address = HTTPAddress(url), address.origin.isSecure, address.basePath.isEmpty else {
                throw PushCredentialsError(
                    "the URL of APNs (\(environment.rawValue)) must be like https://host:port"
                )
            }
            pools[environment] = ConnectionPool(
                origin: address.origin,
                connector: connector,
                settings: configuration.poolSettings
            )
        }
        self.pools = pools
    }

    /// Sends a notification to a target of case ``PushTarget/apns(token:environment:)``.
    public func send(_ message: PushMessage, to target: PushTarget) async -> PushReply {
        guard case .apns(let token, let environment) = target, let pool = pools[environment] else {
            return PushReply(.refused, reason: "WrongTarget")
        }
        // The token becomes part of a path, so it must be hexadecimal. APNs gives the same reply.
        guard Self.isToken(token) else { return PushReply(.wrongEnvironment, reason: "BadDeviceToken") }
        guard message.data["aps"] == nil else { return PushReply(.refused, reason: "ReservedKey") }
        guard let payload = payloads.encode(message) else { return PushReply(.tooLarge, reason: "PayloadTooLarge") }
        var request = OutgoingRequest(to: pool.origin, path: "/3/device/\(token)", body: ByteBuffer(bytes: payload))
        request.add("apns-topic", message.kind == .voip ? "\(topic).voip" : topic)
        APNsFields(message, now: now()).add(to: &request)
        return await send(request, over: pool)
    }

    /// Sends a request, and repeats it once if ``APNsRetry`` says so.
    private func send(_ request: OutgoingRequest, over pool: ConnectionPool) async -> PushReply {
        var retry = APNsRetry()
        while true {
            let token: ProviderTokens.Token
            do {
                token = try tokens.current()
            } catch {
                return PushReply(.misconfigured, reason: "UnusableKey")
            }
            var signed = request
            signed.add("authorization", "bearer \(token.value)")
            switch await pool.send(signed) {
            case .failure(let failure): return failure.reply
            case .success(let response):
                let reply = APNsResponse(response, now: now()).reply
                guard let other = retry.reply(to: reply, for: token, tokens) else { continue }
                return other
            }
        }
    }

    private static func isToken(_ token: String) -> Bool {
        (1...200).contains(token.utf8.count)
            && token.utf8.allSatisfy { byte in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
            }
    }

    /// Rejects new requests, waits for pending replies, and closes the connections.
    public func shutdown() async {
        for pool in pools.values { await pool.shutdown() }
    }
}

extension APNsClient.Configuration {
    fileprivate var poolSettings: PoolSettings {
        var settings = PoolSettings()
        settings.connections = max(1, connections)
        settings.streams = max(1, streams)
        settings.connectTimeout = TimeAmount(connectTimeout)
        settings.requestTimeout = TimeAmount(requestTimeout)
        settings.pingInterval = TimeAmount(pingInterval)
        settings.idleTimeout = TimeAmount(idleTimeout)
        // Apple answers every request with 500 on a connection that was idle for long with an old token.
        settings.retiringStatuses = [500, 503]
        return settings
    }
}
