package import Credentials
package import Foundation
package import JWTKit
import Synchronization
package import Wire

/// Replaces auth in tests of other services: a key pair, the tokens that it signs, and the revoked sessions.
package final class TestKeys: CredentialSource {
    package static let issuer = "http://127.0.0.1:8080"

    package let kid: String
    package let key: ES256PrivateKey
    private let revoked = Mutex<[Revocation]>([])
    private let opened = Mutex<[String: KnownSession]>([:])
    private let lookups = Mutex<[[String]]>([])
    private let keysOfApplications = Mutex<[String: KnownApplicationKey]>([:])
    private let keyLookups = Mutex<[[String]]>([])

    package init(kid: String = "test-key") {
        self.kid = kid
        key = ES256PrivateKey()
    }

    package func keyDocument() async throws -> KeyDocument {
        guard let parameters = key.parameters else { throw TestSupportError("a P-256 key has two coordinates") }
        return KeyDocument(
            keys: [KeyDocument.Key(x: Self.base64URL(parameters.x), y: Self.base64URL(parameters.y), kid: kid)]
        )
    }

    package func revocations(after: Int64?) async throws -> RevocationPage {
        // Long polling for up to a second; auth waits for five.
        for _ in 0..<100 where after == Int64(revoked.withLock { $0.count }) {
            try await Task.sleep(for: .milliseconds(10))
        }
        let revocations = revoked.withLock { $0 }
        return RevocationPage(revocations: revocations, after: Int64(revocations.count))
    }

    package func sessions(of hashes: [String]) async throws -> [KnownSession] {
        lookups.withLock { $0.append(hashes) }
        return opened.withLock { opened in hashes.compactMap { opened[$0] } }
    }

    /// The requested token hashes, by call.
    package var requestedSessions: [[String]] { lookups.withLock { $0 } }

    /// Opens a session as a customer's account server does, and returns its token.
    package func openSession(
        of user: User.ID,
        session: String = UUID().uuidString.lowercased(),
        device: String? = nil,
        platform: String? = nil,
        pushToken: String? = nil,
        lifetime: TimeInterval = 3_600
    ) -> String {
        let token = SessionToken.random()
        let hash = Base64URL.encode(SessionToken.hash(token))
        let knownSession = KnownSession(
            tokenHash: hash,
            sessionId: session,
            applicationId: user.application,
            userId: user.user,
            deviceId: device,
            expiresAt: Date().addingTimeInterval(lifetime),
            platform: platform,
            pushToken: pushToken
        )
        opened.withLock { $0[hash] = knownSession }
        return token
    }

    package func applicationKeys(_ names: [String]) async throws -> [KnownApplicationKey] {
        keyLookups.withLock { $0.append(names) }
        return keysOfApplications.withLock { keys in names.compactMap { keys[$0] } }
    }

    /// The requested application keys, by call.
    package var requestedKeys: [[String]] { keyLookups.withLock { $0 } }

    package func setKey(_ key: ApplicationKey, publicKey: Data?) {
        keysOfApplications.withLock { keys in
            keys[key.name] = publicKey.map { KnownApplicationKey(name: key.name, publicKey: $0) }
        }
    }

    /// Removes a session, as auth does when it ends, without an entry in the revocation feed.
    package func closeSession(_ session: String) {
        opened.withLock { $0 = $0.filter { $0.value.sessionId != session } }
    }

    package func revoke(_ session: String) {
        let hash = opened.withLock { $0.first { $0.value.sessionId == session }?.key }
        revoked.withLock { revoked in
            revoked.append(
                Revocation(
                    sessionId: session,
                    serial: Int64(revoked.count + 1),
                    until: Date().addingTimeInterval(3_600),
                    tokenHash: hash
                )
            )
        }
    }

    /// Returns a token as auth issues it, with optional changes of its claims and header.
    package func token(
        for user: User.ID,
        session: String = UUID().uuidString.lowercased(),
        scope: String? = nil,
        lifetime: Int64 = 3_600,
        header: JWTHeader = [:],
        change: (inout AccessToken.Claims) -> Void = { _ in }
    ) async throws -> String {
        let now = Int64(Date().timeIntervalSince1970)
        var claims = AccessToken.Claims(
            iss: Self.issuer,
            sub: user.user,
            app: user.application,
            sid: session,
            iat: now,
            exp: now + lifetime,
            scope: scope
        )
        change(&claims)
        var fields: JWTHeader = ["typ": .string(AccessToken.type)]
        for (name, value) in header.fields { fields.fields[name] = value }
        let keys = await JWTKeyCollection().add(ecdsa: key, kid: JWKIdentifier(string: kid))
        // A `kid` from the caller goes into the header, but the same key signs.
        let named = fields.kid
        if let named { _ = await keys.add(ecdsa: key, kid: JWKIdentifier(string: named)) }
        return try await keys.sign(claims, kid: JWKIdentifier(string: named ?? kid), header: fields)
    }

    private static func base64URL(_ base64: String) -> String {
        Base64URL.decode(base64).map { Base64URL.encode($0) } ?? Base64URL.encode(Data(base64Encoded: base64) ?? Data())
    }
}
