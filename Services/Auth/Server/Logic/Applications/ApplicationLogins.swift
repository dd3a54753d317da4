import AuthAPI
import Credentials
import Foundation
import Metrics
import Postgres
import ServiceHost
import Wire

/// The sign-in of users of customers' applications, with a token from the customer's account server (seed diuit).
struct ApplicationLogins: Sendable {
    struct Header: Sendable {
        var applicationID: String?
        var applicationKey: String?
    }

    let database: PostgresPool
    let sessionRevocations: SessionRevocations
    let events: EventOutbox
    let nonces: Nonces
    let now: @Sendable () -> Date

    func nonce(_ header: Header) async throws -> NewNonce {
        NewNonce(nonce: nonces.make(for: try await application(header)))
    }

    /// Opens a session until the expiry that the account server chose; the previous session on the same device ends.
    ///
    /// The token must be signed with RS256 by a key of this application, name the application, be unexpired, and
    /// contain an unused nonce. The nonce makes a captured token useless.
    func login(
        _ draft: ApplicationLoginDraft,
        _ header: Header,
        from caller: ClientInfo
    ) async throws -> ApplicationSignIn {
        let application = try await application(header)
        let device = try LoginDevice(draft)
        do {
            let signIn = try await signIn(try draft.token, to: application, on: device, from: caller)
            Self.count("signed_in")
            return signIn
        } catch let error as APIError where error.kind == .unauthenticated {
            Self.count(error.code)
            throw error
        }
    }

    private func signIn(
        _ text: String,
        to application: String,
        on device: LoginDevice,
        from caller: ClientInfo
    ) async throws -> ApplicationSignIn {
        let token = try AuthToken(text)
        guard let key = try await ApplicationStore(db: database.reads).key(token.keyID, of: application) else {
            throw AuthToken.error("unknown_key", "the auth token's kid does not name a key of this application")
        }
        let claims = try token.claims(signedBy: key.publicKey, for: application, now: now())
        // A revoked key is reported only after its signature was verified.
        guard !key.isRevoked else { throw Self.revokedKey }
        let nonce = try usableNonce(claims.nonce, of: application)

        let session = SessionToken.random()
        let record = record(of: claims, in: application, on: device, from: caller)
        try await database.transaction { db in
            guard try await ApplicationStore(db: db).lockShared(key: token.keyID, of: application) else {
                throw Self.revokedKey
            }
            guard try await SpentNonceStore(db: db).insert(nonce.hash, of: application, until: nonce.until) else {
                throw AuthToken.error("nonce_used", "the auth token's nonce has already been used")
            }
            let store = SessionStore(db: db)
            try await sessionRevocations.end(try await store.lock(of: record.user, on: device.id), in: db)
            var record = record
            record.token = .init(hash: SessionToken.hash(session), keyID: token.keyID)
            try await store.insert(record)
            try await ApplicationUserStore(db: db).record(record.user, signedInAt: record.createdAt)
            if let registered = device.registered(in: record) { try await events.write(registered, in: db) }
        }
        return ApplicationSignIn(session: session, userId: claims.subject, deviceId: device.id.text)
    }

    private func usableNonce(_ nonce: String, of application: String) throws -> (hash: Data, until: Date) {
        switch nonces.validate(nonce, of: application) {
        case .valid(let hash, let until): return (hash, until)
        case .expired: throw AuthToken.error("nonce_expired", "the auth token's nonce is older than ten minutes")
        case .unknown:
            throw AuthToken.error("unknown_nonce", "the auth token's nonce was not issued for this application")
        }
    }

    private func record(
        of claims: AuthToken.Claims,
        in application: String,
        on device: LoginDevice,
        from caller: ClientInfo
    ) -> SessionStore.Record {
        let now = now()
        return SessionStore.Record(
            id: UUID(),
            user: User.ID(application: application, user: claims.subject),
            deviceID: device.id.text,
            platform: device.platform?.rawValue,
            pushToken: device.pushToken,
            userAgent: caller.userAgent,
            createdAt: now,
            lastSeenAt: now,
            expiresAt: claims.expiresAt
        )
    }

    /// Returns the application that the request's headers name.
    ///
    /// - Throws: `missing_application` without both headers, `application_not_found` for an unknown application or a
    ///   wrong key.
    private func application(_ header: Header) async throws -> String {
        guard let id = header.applicationID, let key = header.applicationKey else {
            throw APIError(
                .forbidden,
                "missing_application",
                "the headers x-diuit-application-id and x-diuit-app-key are required"
            )
        }
        let hasValidLength = (1...128).contains(id.utf8.count)
        guard hasValidLength,
            let applicationKey = try await ApplicationStore(db: database.reads).applicationKey(of: id),
            applicationKey == key
        else { throw APIError(.forbidden, "application_not_found", "no application has this id and key") }
        return id
    }

    private static let revokedKey = AuthToken.error("revoked_key", "the key that signed the auth token was revoked")

    private static func count(_ outcome: String) {
        Counter(label: "roost_auth_application_logins_total", dimensions: [("outcome", outcome)]).increment()
    }
}

extension ApplicationLoginDraft {
    fileprivate var token: String {
        get throws {
            guard let token = authToken ?? jwt, !token.isEmpty else { throw APIError.missing("authToken") }
            guard token.utf8.count <= AuthToken.maximumLength else {
                throw APIError.invalid(
                    authToken == nil ? "jwt" : "authToken",
                    "an auth token must have at most \(AuthToken.maximumLength) bytes",
                    code: "auth_token_length"
                )
            }
            return token
        }
    }
}
