import AuthAPI
import Credentials
import Foundation
import Postgres
import Wire

/// The introspection and revocation of tokens that a client presents.
struct TokenIntrospection: Sendable {
    /// The longest accepted token, in bytes.
    private static let maximumLength = 8_192

    let database: PostgresPool
    let credentials: CredentialVerifier
    let sessionRevocations: SessionRevocations
    let refreshTokenTags: RefreshTokenTags
    let issuer: String

    /// Ends the session of a token; an inactive or unknown token is ignored without an error (RFC 7009, section 2.2).
    ///
    /// Possession of the token is the only authorization needed.
    func revoke(_ draft: PresentedToken) async throws {
        try Self.check(draft)
        if let token = RefreshToken(draft.token) {
            // A used refresh token ends the session too, because its holder may be an attacker.
            guard token.isOurs(refreshTokenTags) else { return }
            _ = try await database.transaction { db in try await sessionRevocations.end([token.session], in: db) }
            return
        }
        guard let identity = try await identity(of: draft.token), let session = UUID(uuidString: identity.session)
        else { return }
        _ = try await sessionRevocations.end(session, of: identity.user)
    }

    /// Returns whether a token is a usable access token, and its user (RFC 7662); refresh tokens count as inactive.
    func status(of draft: PresentedToken) async throws -> TokenStatus {
        try Self.check(draft)
        guard let identity = try await identity(of: draft.token) else { return .inactive }
        return TokenStatus(
            active: true,
            iss: issuer,
            sub: identity.user.user,
            clientID: identity.user.application,
            sid: identity.session,
            scope: identity.scope,
            exp: Int64(identity.expires.timeIntervalSince1970),
            tokenType: "Bearer"
        )
    }

    private static func check(_ draft: PresentedToken) throws {
        guard !draft.token.isEmpty else { throw APIError.missing("token") }
        guard draft.token.utf8.count <= maximumLength else {
            throw APIError.invalid("token", "a token must have at most \(maximumLength) bytes", code: "token_length")
        }
    }

    /// Returns the identity of a token; nil for an invalid token.
    private func identity(of token: String) async throws -> Identity? {
        do {
            return try await credentials.identify(token)
        } catch let error as APIError where error.kind == .forbidden {
            return nil
        }
    }
}
