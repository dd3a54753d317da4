import Foundation
import HTTPTypes
import SocialAPI
import Wire

extension BlueskyConnector {
    /// A session names its account, and where that lives if the PDS that was asked is only its front.
    ///
    /// Somebody may give an app password in the place of a token, with his handle as id: then a session is made of it, and
    /// the password is not kept.
    func identify(_ account: NetworkAccount) async throws -> NetworkIdentity {
        if Self.key(of: account) != nil {
            let (session, _) = try await read("com.atproto.server.getSession", [:], account)
            guard let did = session["did"]?.nonEmpty else {
                throw NetworkError(.transient, "the PDS does not say whose account it is")
            }
            return NetworkIdentity(id: did, username: session["handle"]?.text)
        }
        if Self.claims(of: account.tokens.access) == nil {
            let body: JSONValue = .object([
                "identifier": .string(account.id ?? account.username ?? ""), "password": .string(account.tokens.access),
            ])
            let (session, _) = try await calls.json(.json(url("com.atproto.server.createSession", account), body))
            var identity = try Self.identity(session, tokens: Self.tokens(session))
            // The PDS has found the account by it: a handle, or an e-mail address.
            identity.aliases = [account.id].compactMap(\.self)
            return identity
        }
        let (session, _) = try await read("com.atproto.server.getSession", [:], account)
        var tokens = account.tokens
        tokens.expiresAt = tokens.expiresAt ?? Self.end(of: tokens.access)
        return try Self.identity(session, tokens: tokens)
    }

    /// A session is made of an app password first, and calls name the account by its DID.
    func acceptsProvidedID(_ account: NetworkAccount) -> Bool {
        account.id?.hasPrefix("did:") == true && Self.claims(of: account.tokens.access) != nil
    }

    /// Grants are for minutes, some for few.
    var renewal: TimeInterval? { 60 }

    /// The refresh token serves once: the pair that comes of it replaces both.
    func renew(_ account: NetworkAccount) async throws -> NetworkTokens {
        if let bound = Self.key(of: account) { return try await renewed(account, bound) }
        guard let refresh = account.tokens.refresh else {
            throw NetworkError(.auth, "the session is over", code: "ExpiredToken")
        }
        let method = url("com.atproto.server.refreshSession", account)
        let (session, _) = try await calls.json(NetworkRequest(.post, method).bearer(refresh))
        return try Self.tokens(session)
    }

    func revoke(_ account: NetworkAccount) async throws {
        if let bound = Self.key(of: account) { return try await revoke(account, bound) }
        guard let refresh = account.tokens.refresh else { return }
        let method = url("com.atproto.server.deleteSession", account)
        _ = try await calls.send(NetworkRequest(.post, method).bearer(refresh))
    }

    private static func tokens(_ session: JSONValue) throws -> NetworkTokens {
        guard let access = session["accessJwt"]?.nonEmpty else {
            throw NetworkError(.transient, "the PDS gives no token")
        }
        return NetworkTokens(access: access, refresh: session["refreshJwt"]?.nonEmpty, expiresAt: end(of: access))
    }

    private static func identity(_ session: JSONValue, tokens: NetworkTokens) throws -> NetworkIdentity {
        guard let did = session["did"]?.nonEmpty else {
            throw NetworkError(.transient, "the PDS does not say whose account it is")
        }
        let known = ["scope": scope(of: tokens.access), "pds": BlueskyDirectory.pds(session["didDoc"])]
        let details = known.compactMapValues { $0 }
        return NetworkIdentity(id: did, username: session["handle"]?.text, details: details, tokens: tokens)
    }

    /// What an access token may be used for, as it says itself.
    static func scope(of token: String) -> String? { claims(of: token)?["scope"]?.text }

    private static func end(of token: String) -> Date? { claims(of: token)?["exp"]?.epoch }

    /// What a JWT says, unverified: it is the PDS that verifies it.
    ///
    /// Nil for what is none.
    private static func claims(of token: String) -> JSONValue? {
        let parts = token.split(separator: ".")
        guard parts.count == 3, let payload = Base64URL.decode(parts[1]) else { return nil }
        return try? JSONParser.parse(payload)  // what is no JSON is no token either
    }
}
