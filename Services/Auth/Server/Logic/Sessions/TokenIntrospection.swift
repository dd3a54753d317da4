import AuthAPI
import Credentials
import Foundation
import Postgres
import Wire

/// The rules of tokens that somebody shows, to end them or to know of them.
struct TokenIntrospection: Sendable {
    /// Longer text is no token of ours, in bytes.
    private static let maximumLength = 8_192

    let database: PostgresPool
    let credentials: CredentialVerifier
    let sessionRevocations: SessionRevocations
    let refreshTokenTags: RefreshTokenTags
    let issuer: String

    /// Ends the session that a token is of; for one that counts no more, or never did, there is nothing to do and nothing
    /// to say (RFC 7009, section 2.2).
    ///
    /// Whoever has a token may end it: that needs no other proof.
    func revoke(_ draft: PresentedToken) async throws {
        try Self.check(draft)
        if let token = RefreshToken(draft.token) {
            // One that was used ends it as well: somebody has a copy.
            guard token.isOurs(refreshTokenTags) else { return }
            _ = try await database.transaction { db in try await sessionRevocations.end([token.session], in: db) }
            return
        }
        guard let identity = try await identity(of: draft.token), let session = UUID(uuidString: identity.session)
        else { return }
        _ = try await sessionRevocations.end(session, of: identity.user)
    }

    /// Whether a token is one to use at a service, and whose (RFC 7662); a refresh token is none.
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
            throw APIError.invalid("token", "a token has at most \(maximumLength) bytes", code: "token_length")
        }
    }

    /// Whose a token is; nil for one that does not count.
    private func identity(of token: String) async throws -> Identity? {
        do {
            return try await credentials.identify(token)
        } catch let error as APIError where error.kind == .forbidden {
            return nil
        }
    }
}
