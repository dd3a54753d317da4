public import Foundation
import NIOCore

/// Sends notifications to Apple's devices, over HTTP/2 and with a provider token (APNs).
///
/// It speaks HTTP/2 on NIO's frames rather than through an HTTP client. Apple asks for few connections that live long, and
/// tells in a good-bye (GOAWAY) which requests it has not looked at, which a general client turns into errors: there,
/// 3,654 of 30,000 requests failed against a server that says good-bye after each thousand; here those are sent again over
/// the next connection, with nobody noticing. And without a channel for each request it is several times as fast.
///
/// What becomes of a connection: up to ``Configuration/connections`` are opened as the load asks for them; each takes as
/// many requests at once as Apple's settings allow (one, until the token was accepted); one that is told good-bye, that
/// answers 500 or 503, or that falls silent, takes no more and another takes its place; one that is silent is asked by a
/// ping; one not needed for half an hour is closed.
public final class APNsClient: PushProvider {
    /// What a developer account proves itself by; a key can be limited to one environment and to some apps.
    public struct Credentials: Sendable {
        /// The content of `AuthKey_….p8`, PEM.
        public var key: String
        /// The key's ten characters.
        public var keyID: String
        /// The team's ten characters.
        public var teamID: String
        /// The app's bundle id.
        public var topic: String

        public init(key: String, keyID: String, teamID: String, topic: String) {
            self.key = key
            self.keyID = keyID
            self.teamID = teamID
            self.topic = topic
        }
    }

    /// Where and how; the defaults are Apple's own.
    public struct Configuration: Sendable {
        public var productionURL = "https://api.push.apple.com"
        public var sandboxURL = "https://api.sandbox.push.apple.com"
        /// Certificates, PEM, that are trusted beside the system's.
        public var trustedAuthorities: String?
        /// How many connections there may be to each of the two.
        public var connections = 4
        /// How many requests one connection may have under way, if Apple allows it.
        public var streams = 1_000
        public var connectTimeout: Duration = .seconds(5)
        /// From being asked to the end of the answer, waiting for a connection included.
        public var requestTimeout: Duration = .seconds(15)
        /// After how long a silent connection is asked whether it is still there.
        public var pingInterval: Duration = .seconds(60)
        /// How long a connection is kept that nobody needs: Apple takes many new ones for an attack.
        public var idleTimeout: Duration = .seconds(1_800)
        /// What is put behind the name of a sound that has no dot in it, but for `default`: the bundle's file has one.
        public var soundSuffix = ".caf"

        public init() {}
    }

    private let topic: String
    private let payloads: APNsPayload
    private let tokens: ProviderTokens
    private let pools: [APNsEnvironment: ConnectionPool]
    private let now: @Sendable () -> Date

    /// Opens no connection yet.
    ///
    /// - Parameters:
    ///   - credentials: of the developer account.
    ///   - configuration: where and how.
    ///   - now: the time, for the token and for what has expired.
    /// - Throws: `PushCredentialsError` where the key is none of P-256, or an address is none of https.
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
                    "the address of APNs (\(environment.rawValue)) is not like https://host:port"
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

    public func send(_ message: PushMessage, to target: PushTarget) async -> PushReply {
        guard case .apns(let token, let environment) = target, let pool = pools[environment] else {
            return PushReply(.refused, reason: "WrongTarget")
        }
        // What Apple would say to it; it goes into a path, so nothing else may.
        guard Self.isToken(token) else { return PushReply(.wrongEnvironment, reason: "BadDeviceToken") }
        guard message.data["aps"] == nil else { return PushReply(.refused, reason: "ReservedKey") }
        guard let payload = payloads.encode(message) else { return PushReply(.tooLarge, reason: "PayloadTooLarge") }
        var request = OutgoingRequest(to: pool.origin, path: "/3/device/\(token)", body: ByteBuffer(bytes: payload))
        request.add("apns-topic", message.kind == .voip ? "\(topic).voip" : topic)
        APNsFields(message, now: now()).add(to: &request)
        return await send(request, over: pool)
    }

    /// Sends it, and once more where the reason is one that a second try answers.
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
        // A connection that was idle for long with an old token is known to answer 500 to everything.
        settings.retiringStatuses = [500, 503]
        return settings
    }
}
