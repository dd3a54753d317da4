public import Foundation
import NIOCore

/// Sends notifications through Firebase Cloud Messaging's HTTP v1 API, to Android and to whatever else has its SDK.
///
/// One request is one device: FCM has no other way any more. Where Google's servers offer HTTP/2 the requests share a few
/// connections.
public final class FCMClient: PushProvider {
    /// Where and how; the defaults are Google's own.
    public struct Configuration: Sendable {
        /// Before `/v1/projects/…`.
        public var url = "https://fcm.googleapis.com"
        /// Where access tokens come from; nil is what the account's JSON says.
        public var tokenURL: String?
        /// Certificates, PEM, that are trusted beside the system's.
        public var trustedAuthorities: String?
        /// How many connections there may be.
        public var connections = 8
        public var connectTimeout: Duration = .seconds(5)
        /// From being asked to the end of the answer.
        public var requestTimeout: Duration = .seconds(20)
        /// As ``APNsClient/Configuration/soundSuffix``, for Apple's devices; Android's sounds have no ending.
        public var appleSoundSuffix = ".caf"

        public init() {}
    }

    private let payloads: FCMPayload
    private let path: String
    private let tokens: AccessTokens
    private let pool: ConnectionPool
    private let tokenPool: ConnectionPool
    private let now: @Sendable () -> Date

    /// Opens no connection yet.
    ///
    /// - Parameters:
    ///   - serviceAccount: the JSON that Google's console hands out.
    ///   - configuration: where and how.
    ///   - now: the time, for tokens and for what has expired.
    /// - Throws: `PushCredentialsError` where the account or an address cannot be used.
    public init(
        serviceAccount: String,
        configuration: Configuration = Configuration(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        let account = try ServiceAccount(serviceAccount)
        guard let address = HTTPAddress(configuration.url) else {
            throw PushCredentialsError("the address of FCM is none of http or https")
        }
        guard let tokenAddress = HTTPAddress(configuration.tokenURL ?? account.tokenURL) else {
            throw PushCredentialsError("the address of FCM's access tokens is none of http or https")
        }
        let connector = try Connector(versions: .any, authorities: configuration.trustedAuthorities)
        var settings = PoolSettings()
        settings.connections = max(1, configuration.connections)
        settings.connectTimeout = TimeAmount(configuration.connectTimeout)
        settings.requestTimeout = TimeAmount(configuration.requestTimeout)
        // Google's servers close what is idle for some minutes, and a request must not meet that.
        settings.idleTimeout = .seconds(90)
        pool = ConnectionPool(origin: address.origin, connector: connector, settings: settings)
        settings.connections = 1
        tokenPool = ConnectionPool(origin: tokenAddress.origin, connector: connector, settings: settings)
        tokens = AccessTokens(account, at: tokenAddress, pool: tokenPool, now: now)
        path = "\(address.basePath)/v1/projects/\(account.projectID)/messages:send"
        payloads = FCMPayload(soundSuffix: configuration.appleSoundSuffix)
        self.now = now
    }

    public func send(_ message: PushMessage, to target: PushTarget) async -> PushReply {
        guard case .fcm(let token) = target else { return PushReply(.refused, reason: "WrongTarget") }
        guard !message.data.keys.contains(where: Self.isReserved) else {
            return PushReply(.refused, reason: "ReservedKey")
        }
        guard let payload = payloads.encode(message, to: token, now: now()) else {
            return PushReply(.tooLarge, reason: "PayloadTooLarge")
        }
        var request = OutgoingRequest(to: pool.origin, path: path, body: ByteBuffer(bytes: payload))
        request.add("content-type", "application/json")
        return await send(request)
    }

    /// Sends it, and once more with another access token where this one is refused.
    private func send(_ request: OutgoingRequest) async -> PushReply {
        var refused: String?
        while true {
            let access: String
            do {
                access = try await tokens.current(excluding: refused)
            } catch {
                return error.reply
            }
            var signed = request
            signed.add("authorization", "Bearer \(access)")
            switch await pool.send(signed) {
            case .failure(let failure): return failure.reply
            case .success(let response):
                let reply = FCMResponse(response, now: now()).reply
                guard response.status == 401, reply.reason != "THIRD_PARTY_AUTH_ERROR", refused == nil else {
                    return reply
                }
                refused = access
            }
        }
    }

    /// Names that FCM keeps for itself.
    private static func isReserved(_ name: String) -> Bool {
        name == "from" || name == "message_type" || name.hasPrefix("google.") || name.hasPrefix("gcm.")
    }

    public func shutdown() async {
        await pool.shutdown()
        await tokenPool.shutdown()
    }
}
