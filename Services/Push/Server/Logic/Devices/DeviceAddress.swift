import Crypto
import Foundation
import NetworkGuard
import PushAPI
import ServiceHost
import Wire

/// The token or endpoint that reaches a device, with valid syntax.
struct DeviceAddress: Hashable, Sendable {
    /// In bytes; also for a browser's endpoint.
    static let maximumToken = 4_096
    /// In bytes (RFC 1035, section 2.3.4).
    private static let maximumHost = 253

    let platform: DevicePlatform
    /// For a browser, its endpoint.
    let token: String
    let keys: WebSubscription.Keys?

    var hash: Data { Data(SHA256.hash(data: Data(token.utf8))) }

    /// - Throws: a 400 error that names the field.
    init(_ draft: DeviceDraft, hosts: AddressGuard) throws {
        guard !draft.platform.isEmpty else { throw APIError.missing("platform") }
        guard let platform = DevicePlatform(rawValue: draft.platform) else {
            let message = "\"platform\" must be one of \(DevicePlatform.names)"
            throw APIError.invalid("platform", message, code: "unknown_platform")
        }
        if platform == .web {
            guard let subscription = draft.subscription else { throw APIError.missing("subscription") }
            self = try DeviceAddress(subscription, hosts: hosts)
        } else {
            guard let token = draft.token else { throw APIError.missing("token") }
            self = try DeviceAddress(platform, token: token)
        }
    }

    /// Creates the address of a phone from its token; removes `<`, `>` and spaces.
    ///
    /// APNs tokens are hexadecimal, because they become part of a URL. FCM tokens are visible ASCII.
    init(_ platform: DevicePlatform, token: String) throws {
        let token = String(token.unicodeScalars.filter { !"<> ".unicodeScalars.contains($0) })
        guard !token.isEmpty else { throw APIError.missing("token") }
        guard token.utf8.count <= Self.maximumToken else {
            throw APIError.invalid("token", "\"token\" must have at most \(Self.maximumToken) bytes", code: "too_long")
        }
        let isAPNs = platform != .gcm
        guard token.utf8.allSatisfy({ isAPNs ? Self.isHex($0) : (0x21...0x7E).contains($0) }) else {
            let message = isAPNs ? "an APNs token must be hexadecimal" : "an FCM token must be visible ASCII"
            throw APIError.invalid("token", message, code: "malformed_token")
        }
        self.platform = platform
        self.token = isAPNs ? token.lowercased() : token
        keys = nil
    }

    private init(_ subscription: WebSubscription, hosts: AddressGuard) throws {
        platform = .web
        token = try Self.endpoint(subscription.endpoint, hosts: hosts)
        let (key, secret) = (Self.bytes(subscription.keys.p256dh), Self.bytes(subscription.keys.auth))
        // A key agreement with a point outside the curve would reveal part of the private key.
        guard let key, key.count == 65, let point = try? P256.KeyAgreement.PublicKey(x963Representation: key) else {
            let message = "must be a point of P-256, uncompressed, 65 bytes in base64url"
            throw APIError.invalid("subscription.keys.p256dh", message, code: "malformed_key")
        }
        guard let secret, secret.count == 16 else {
            throw APIError.invalid("subscription.keys.auth", "must be 16 bytes in base64url", code: "malformed_key")
        }
        keys = WebSubscription.Keys(
            p256dh: Base64URL.encode(point.x963Representation),
            auth: Base64URL.encode(secret)
        )
    }

    private static func endpoint(_ text: String, hosts: AddressGuard) throws -> String {
        let field = "subscription.endpoint"
        guard !text.isEmpty else { throw APIError.missing(field) }
        guard text.utf8.count <= maximumToken else {
            throw APIError.invalid(field, "must have at most \(maximumToken) bytes", code: "too_long")
        }
        let parts = URLComponents(string: text, encodingInvalidCharacters: false)
        guard let parts, parts.fragment == nil, let origin = HTTPOrigin(text), origin.host.utf8.count <= maximumHost,
            origin.isSecure || hosts.allows(host: origin.host, port: origin.port)
        else { throw APIError.invalid(field, "must be an https URL", code: "malformed_endpoint") }
        guard hosts.mayConnect(origin) else {
            let message = "must be at a public address, on port 443 or a port from 1024"
            throw APIError.invalid(field, message, code: "private_address")
        }
        return text
    }

    /// Decodes base64url with or without padding, because browsers differ.
    private static func bytes(_ text: String) -> Data? {
        guard text.utf8.count <= 100 else { return nil }
        return Base64URL.decode(String(text.reversed().drop { $0 == "=" }.reversed()))
    }

    private static func isHex(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
