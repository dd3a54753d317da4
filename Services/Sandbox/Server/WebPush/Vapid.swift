import Credentials
import Crypto
import Foundation
import Locks
import Wire

/// Validates the Authorization field that identifies an application server (RFC 8292).
final class Vapid: Sendable {
    /// An error: 401 for a missing or malformed field, 403 for an invalid one.
    struct RequestError: Error {
        let status: Int
        let reason: String
        let text: String

        init(_ status: Int, _ reason: String, _ text: String) {
            self.status = status
            self.reason = reason
            self.text = text
        }
    }

    private static let maximumLifetime = 86_400
    private static let skew = 60
    private static let cacheLimit = 1_000

    private struct Claims: Decodable, Sendable {
        var aud: String
        var exp: Int
        var sub: String?
    }

    private let now: @Sendable () -> Date
    /// The fields with a valid signature, because a server uses the same field for hours.
    private let verified = Lock<[String: (claims: Claims, key: Data)]>([:])

    init(now: @escaping @Sendable () -> Date) {
        self.now = now
    }

    /// Returns the public key of the application server, whose token must have the endpoint's origin as its audience.
    func validate(_ field: String?, origin: String) throws(RequestError) -> Data {
        guard let field else { throw RequestError(401, "MissingVapid", "Authorization is required (RFC 8292)") }
        let (claims, key) = try verify(field)
        guard claims.aud == origin else {
            throw RequestError(403, "BadAudience", "aud is \(claims.aud) but must be \(origin)")
        }
        let left = claims.exp - Int(now().timeIntervalSince1970)
        guard left > 0 else { throw RequestError(403, "ExpiredVapid", "the token has expired") }
        guard left <= Self.maximumLifetime + Self.skew else {
            throw RequestError(403, "VapidTooLong", "exp must be at most 24 hours ahead")
        }
        if let sub = claims.sub, !sub.hasPrefix("mailto:"), !sub.hasPrefix("https:") {
            throw RequestError(403, "BadSubject", "sub must be a mailto: or https: address")
        }
        return key
    }

    private func verify(_ field: String) throws(RequestError) -> (claims: Claims, key: Data) {
        if let cached = verified.withLock({ $0[field] }) { return cached }
        guard field.prefix(6).lowercased() == "vapid " else {
            throw RequestError(401, "MissingVapid", "the Authorization field must have the form vapid t=…, k=…")
        }
        let parts = field.dropFirst(6).split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        func part(_ name: String) -> String? {
            parts.first { $0.hasPrefix("\(name)=") }.map { String($0.dropFirst(name.count + 1)) }
        }
        guard let token = part("t"), let text = part("k"), let bytes = Base64URL.decode(text),
            // The error reports an unreadable key.
            let key = try? P256.Signing.PublicKey(x963Representation: bytes)
        else { throw RequestError(401, "MalformedVapid", "t must be a token and k a point of 65 bytes in base64url") }
        guard let jws = CompactJWS(token, maximumLength: 4_096), jws.algorithm == "ES256",
            let claims = try? JSONDecoder().decode(Claims.self, from: jws.payload),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: jws.signature),
            key.isValidSignature(signature, for: jws.signingInput)
        else { throw RequestError(403, "BadVapidSignature", "the token is not signed by k with ES256") }
        verified.withLock { verified in
            if verified.count >= Self.cacheLimit { verified = [:] }
            verified[field] = (claims, bytes)
        }
        return (claims, bytes)
    }
}
