import Crypto
import Foundation
import Locks
import Wire

/// What a browser gives a page that asks to push to it (`PushSubscription.toJSON()`).
package struct WebSubscription: Codable, Sendable {
    package struct Keys: Codable, Sendable {
        /// 65 bytes in base64url: the browser's point on P-256.
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
        // Browsers say null rather than nothing.
        try fields.encode(expirationTime, forKey: .expirationTime)
        try fields.encode(keys, forKey: .keys)
    }
}

/// The browsers' subscriptions.
///
/// None is stored: keys are derived from a subscription's id and a secret of the sandbox's, and the id proves itself.
/// It is 16 random bytes, the first 8 of the hash of the key that alone may push to it (zeros for any), and a MAC.
final class Subscriptions: Sendable {
    /// One subscription, as its browser knows it.
    struct Browser {
        let key: P256.KeyAgreement.PrivateKey
        let auth: Data
        /// Of whom alone may push to it.
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

    /// Makes a subscription.
    ///
    /// - Parameters:
    ///   - origin: under which its endpoint is.
    ///   - serverKey: the `applicationServerKey` of who alone may push to it, in base64url; nil for anybody.
    /// - Returns: what its browser would give the page that asked.
    /// - Throws: `APIError` for a key that is none.
    func make(at origin: String, for serverKey: String? = nil) throws -> WebSubscription {
        var hash = Self.anySender
        if let serverKey {
            // Silence: bytes that are no point are refused as such.
            guard let bytes = Base64URL.decode(serverKey),
                (try? P256.Signing.PublicKey(x963Representation: bytes)) != nil
            else {
                throw APIError.invalid("applicationServerKey", "a point on P-256, 65 bytes in base64url, is needed")
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

    /// Unsubscribes: from now on its endpoint is gone.
    func end(_ id: String) throws {
        guard try browser(of: id) != nil else { throw APIError(.notFound, "no_subscription", "no such subscription") }
        ended.withLock { ended in
            if ended.count >= Self.endedLimit { ended = [] }
            ended.insert(id)
        }
    }

    func hasEnded(_ id: String) -> Bool {
        ended.withLock { $0.contains(id) }
    }

    /// The browser of a subscription; nil where the sandbox has not made it.
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
            // Fails for one number of 2^32: those that are no scalar of the curve.
            key: try P256.KeyAgreement.PrivateKey(rawRepresentation: key.withUnsafeBytes { Data($0) }),
            auth: auth.withUnsafeBytes { Data($0) },
            serverKeyHash: hash == Self.anySender ? nil : hash
        )
    }
}
