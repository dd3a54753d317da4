public import Foundation
import NIOCore

/// A client for the HTTP v1 API of Firebase Cloud Messaging (FCM), for every platform with its SDK.
///
/// Each request is for one device; FCM has no batch request. Requests share a few connections if the server offers
/// HTTP/2.
public final class FCMClient: PushProvider {
    /// The addresses and limits of a client; the defaults are those of Google's servers.
    public struct Configuration: Sendable {
        /// The URL before `/v1/projects/…`.
        public var url = "https://fcm.googleapis.com"
        /// The URL that issues access tokens; nil for the one in the service account.
        public var tokenURL: String?
        /// Certificate authorities in PEM that are trusted in addition to the system's.
        public var trustedAuthorities: String?
        /// The maximum number of connections.
        public var connections = 8
        /// The time limit for DNS, TCP and TLS together.
        public var connectTimeout: Duration = .seconds(5)
        /// The time limit for a request, including the wait for a connection.
        public var requestTimeout: Duration = .seconds(20)
        /// As ``APNsClient/Configuration/soundSuffix``, for Apple devices; Android sounds have no extension.
        public var appleSoundSuffix = ".caf"

        /// Creates a configuration with the default values.
        public init() {}
    }

    private let payloads: FCMPayload
    private let path: String
    private let tokens: AccessTokens
    private let pool: ConnectionPool
    private let tokenPool: ConnectionPool
    private let now: @Sendable () -> Date

    /// Creates a client; the first request opens a connection.
    ///
    /// - Parameters:
    ///   - serviceAccount: the JSON file from the Google Cloud console.
    ///   - configuration: the addresses and limits.
    ///   - now: the current time, for tokens and for expiry.
    /// - Throws: ``PushCredentialsError`` if the account, a URL or a certificate is invalid.
    public init(
        serviceAccount: String,
        configuration: Configuration = Configuration(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        let account = try ServiceAccount(serviceAccount)
        guard let address = HTTPAddress(configuration.url) else {
            throw PushCredentialsError("the URL of FCM must be an http or https URL")
        }
        guard let tokenAddress = HTTPAddress(configuration.tokenURL ?? account.tokenURL) else {
            throw PushCredentialsError("the URL of FCM's access tokens must be an http or https URL")
        }
        let connector = try Connector(versions: .any, authorities: configuration.trustedAuthorities)
        var settings = PoolSettings()
        settings.connections = max(1, configuration.connections)
        settings.connectTimeout = TimeAmount(configuration.connectTimeout)
        settings.requestTimeout = TimeAmount(configuration.requestTimeout)
        // Google's servers close connections that are idle for some minutes; a request at that moment would fail.
        settings.idleTimeout = .seconds(90)
        pool = ConnectionPool(origin: address.origin, connector: connector, settings: settings)
        settings.connections = 1
        tokenPool = ConnectionPool(origin: tokenAddress.origin, connector: connector, settings: settings)
        tokens = AccessTokens(account, at: tokenAddress, pool: tokenPool, now: now)
        path = "\(address.basePath)/v1/projects/\(account.projectID)/messages:send"
        payloads = FCMPayload(soundSuffix: configuration.appleSoundSuffix)
        self.now = now
    }

    /// Sends a notification to a target of case ``PushTarget/fcm(token:)``.
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

    /// Sends a request, and repeats it once with another access token if FCM rejects this one.
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

    private static func isReserved(_ name: String) -> Bool {
        name == "from" || name == "message_type" || name.hasPrefix("google.") || name.hasPrefix("gcm.")
    }

    /// Rejects new requests, waits for pending replies, and closes the connections.
    public func shutdown() async {
        await pool.shutdown()
        await tokenPool.shutdown()
    }
}
