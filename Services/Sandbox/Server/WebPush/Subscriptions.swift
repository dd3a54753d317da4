import Crypto
import Foundation
import Locks
import Wire

/// A push subscription as a browser returns it to a page (`PushSubscription.toJSON()`).
package struct WebSubscription: Codable, Sendable {
    package struct Keys: Codable, Sendable {
        /// The browser's point on P-256: 65 bytes in base64url.
        package var p256dh: String
        /// 16 bytes in base64url.
        package var auth: String
    }

    package var endpoint: String
    package var expirationTime: Int?
    package var keys: Keys

    private enum CodingKeys: String, CodingKey {
        case endpoint, expirationTime, keys
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(endpoint, forKey: .endpoint)
        // Browsers send null instead of leaving the field out.
        try fields.encode(expirationTime, forKey: .expirationTime)
        try fields.encode(keys, forKey: .keys)
    }
}

/// The browsers' subscriptions.
///
/// Subscriptions are not stored. Their keys are derived from the id and a secret of the sandbox, and the id
/// authenticates itself. An id has 16 random bytes, 8 bytes of the hash of the only key that may push to it (zeros for
/// any key), and 8 bytes of a MAC.
final class Subscriptions: Sendable {
    /// The browser's keys of one subscription.
    struct Browser {
        let key: P256.KeyAgreement.PrivateKey
        let auth: Data
        /// 8 bytes of the hash of the only key that may push; nil for any key.
        let serverKeyHash: Data?
    }

    private static let endedLimit = 100_000
    private static let anySender = Data(count: 8)

    private let secret: SymmetricKey
    private let ended = Lock<Set<String>>([])

    init(storedIn folder: PrivateFolder?) throws {
        let saved = try folder?.read("subscriptions.key")?.filter { !$0.isNewline }
        if let saved, let bytes = Base64URL.decode(saved) {
            secret = SymmetricKey(data: bytes)
            return
        }
        secret = SymmetricKey(size: .bits256)
        try folder?.write(secret.withUnsafeBytes { Base64URL.encode(Data($0)) } + "\n", to: "subscriptions.key")
    }

    /// Creates a subscription.
    ///
    /// - Parameters:
    ///   - origin: the base address of the endpoint.
    ///   - serverKey: the only `applicationServerKey` that may push, in base64url; nil allows any key.
    /// - Returns: the subscription as the browser returns it to the page.
    /// - Throws: `APIError` for an invalid key.
    func make(at origin: String, for serverKey: String? = nil) throws -> WebSubscription {
        var hash = Self.anySender
        if let serverKey {
            // The error reports bytes that are not a point.
            guard let bytes = Base64URL.decode(serverKey),
                (try? P256.Signing.PublicKey(x963Representation: bytes)) != nil
            else {
                throw APIError.invalid("applicationServerKey", "the key must be a P-256 point: 65 bytes in base64url")
            }
            hash = Data(SHA256.hash(data: bytes)).prefix(8)
        }
        let named = SymmetricKey(size: .bits128).withUnsafeBytes { Data($0) } + hash
        let id = Base64URL.encode(named + mac(of: named))
        let browser = try browser(named)
        return WebSubscription(
            endpoint: "\(origin)/webpush/\(id)",
            expirationTime: nil,
            keys: .init(
                p256dh: Base64URL.encode(browser.key.publicKey.x963Representation),
                auth: Base64URL.encode(browser.auth)
            )
        )
    }

    /// Ends a subscription, whose endpoint then responds 410 to pushes.
    func end(_ id: String) throws {
        guard try browser(of: id) != nil else {
            throw APIError(.notFound, "no_subscription", "there is no such subscription")
        }
        ended.withLock { ended in
            if ended.count >= Self.endedLimit { ended = [] }
            ended.insert(id)
        }
    }

    func hasEnded(_ id: String) -> Bool {
        ended.withLock { $0.contains(id) }
    }

    /// Returns the browser of a subscription, or nil when this sandbox did not create it.
    func browser(of id: String) throws -> Browser? {
        guard let bytes = Base64URL.decode(id), bytes.count == 32 else { return nil }
        let named = Data(bytes.prefix(24))
        guard mac(of: named) == Data(bytes.suffix(8)) else { return nil }
        return try browser(named)
    }

    private func mac(of named: Data) -> Data {
        Data(HMAC<SHA256>.authenticationCode(for: named, using: secret)).prefix(8)
    }

    private func browser(_ named: Data) throws -> Browser {
        let key = HKDF<SHA256>.deriveKey(inputKeyMaterial: secret, info: Data("key".utf8) + named, outputByteCount: 32)
        let auth = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: secret,
            info: Data("auth".utf8) + named,
            outputByteCount: 16
        )
        let hash = Data(named.suffix(8))
        return Browser(
            // Fails for one of 2^32 keys, which is not a scalar of the curve.
            key: try P256.KeyAgreement.PrivateKey(rawRepresentation: key.withUnsafeBytes { Data($0) }),
            auth: auth.withUnsafeBytes { Data($0) },
            serverKeyHash: hash == Self.anySender ? nil : hash
        )
    }
}
