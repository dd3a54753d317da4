import Foundation
import HTTPTypes
import SocialAPI
import Wire

extension BlueskyConnector {
    /// Identifies the account of a session, and its PDS if the called server is only an entry point.
    ///
    /// A client may send an app password instead of a token, with the handle as `id`. The connector then creates a
    /// session and does not store the password.
    func identify(_ account: NetworkAccount) async throws -> NetworkIdentity {
        if Self.key(of: account) != nil {
            let (session, _) = try await read("com.atproto.server.getSession", [:], account)
            guard let did = session["did"]?.nonEmpty else {
                throw NetworkError(.transient, "the PDS did not identify the account")
            }
            return NetworkIdentity(id: did, username: session["handle"]?.text)
        }
        if Self.claims(of: account.tokens.access) == nil {
            let body: JSONValue = .object([
                "identifier": .string(account.id ?? account.username ?? ""), "password": .string(account.tokens.access),
            ])
            let (session, _) = try await calls.json(.json(url("com.atproto.server.createSession", account), body))
            var identity = try Self.identity(session, tokens: Self.tokens(session))
            // The client may have sent a handle or an e-mail address, by which the PDS found the account.
            identity.aliases = [account.id].compactMap(\.self)
            return identity
        }
        let (session, _) = try await read("com.atproto.server.getSession", [:], account)
        var tokens = account.tokens
        tokens.expiresAt = tokens.expiresAt ?? Self.end(of: tokens.access)
        return try Self.identity(session, tokens: tokens)
    }

    /// Returns true for a DID and a session's token: an app password needs a session first, and calls use the DID.
    func acceptsProvidedID(_ account: NetworkAccount) -> Bool {
        account.id?.hasPrefix("did:") == true && Self.claims(of: account.tokens.access) != nil
    }

    /// Access tokens are valid for minutes, with some servers for a few only.
    var renewal: TimeInterval? { 60 }

    /// Renews the tokens.
    ///
    /// A refresh token can only be used once, so the response replaces both tokens.
    func renew(_ account: NetworkAccount) async throws -> NetworkTokens {
        if let bound = Self.key(of: account) { return try await renewed(account, bound) }
        guard let refresh = account.tokens.refresh else {
            throw NetworkError(.auth, "the session has expired", code: "ExpiredToken")
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
            throw NetworkError(.transient, "the PDS returned no token")
        }
        return NetworkTokens(access: access, refresh: session["refreshJwt"]?.nonEmpty, expiresAt: end(of: access))
    }

    private static func identity(_ session: JSONValue, tokens: NetworkTokens) throws -> NetworkIdentity {
        guard let did = session["did"]?.nonEmpty else {
            throw NetworkError(.transient, "the PDS did not identify the account")
        }
        let fields = ["scope": scope(of: tokens.access), "pds": BlueskyDirectory.pds(session["didDoc"])]
        let details = fields.compactMapValues { $0 }
        return NetworkIdentity(id: did, username: session["handle"]?.text, details: details, tokens: tokens)
    }

    /// Returns the scope in an access token.
    static func scope(of token: String) -> String? { claims(of: token)?["scope"]?.text }

    private static func end(of token: String) -> Date? { claims(of: token)?["exp"]?.epoch }

    /// Returns the claims of a JWT without verifying it, which the PDS does; nil for a token of another form.
    private static func claims(of token: String) -> JSONValue? {
        let parts = token.split(separator: ".")
        guard parts.count == 3, let payload = Base64URL.decode(parts[1]) else { return nil }
        return try? JSONParser.parse(payload)  // a payload that is not JSON is not a JWT
    }
}
