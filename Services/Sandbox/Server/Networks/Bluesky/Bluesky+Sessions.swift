import Foundation
import NIOHTTP1
import Wire

/// Signing in with a handle or DID and an app password, and refreshing sessions.
extension Bluesky {
    func sessions(_ method: String, _ request: NetworkRequest, by caller: Caller?) throws -> WebResponse? {
        switch method {
        case "com.atproto.server.createSession": return try signIn(request)
        case "com.atproto.server.refreshSession": return try renew(request)
        case "com.atproto.server.deleteSession":
            guard let token = request.bearer, grants.revoke(token) else {
                throw Self.apiError("InvalidToken", "Token could not be verified")
            }
            return WebResponse(.ok)
        case "com.atproto.server.describeServer":
            return .jsonValue([
                "did": "did:web:sandbox", "availableUserDomains": [".sandbox.test"], "inviteCodeRequired": false,
            ])
        case "com.atproto.identity.resolveHandle":
            let person = person(request["handle"] ?? "")
            guard let person else { throw Self.apiError("InvalidRequest", "Unable to resolve handle") }
            return .jsonValue(["did": .string(BlueskyNames.did(person))])
        case "com.atproto.server.getSession":
            return caller.map { .jsonValue(about($0.person, request)) }
        case "com.atproto.server.getServiceAuth":
            guard let caller else { return nil }
            guard request["aud"]?.hasPrefix("did:") == true else {
                throw Self.apiError("InvalidRequest", "Error: Params must have the property \"aud\"")
            }
            let claims: JSONValue = [
                "iss": .string(BlueskyNames.did(caller.person)), "aud": .text(request["aud"]),
                "lxm": .text(request["lxm"]), "jti": .string(UUID().uuidString),
            ]
            let token = BlueskyNames.jwt(claims, type: "JWT")
            grants.put(token, grant(caller.person, ["service"], for: 60))
            return .jsonValue(["token": .string(token)])
        default: return nil
        }
    }

    /// Returns the person with this handle, name or DID.
    func person(_ text: String) -> Person? {
        if text.hasPrefix("did:") { return community.people.first { BlueskyNames.did($0) == text } }
        return community.person(named: text.hasSuffix(".sandbox.test") ? String(text.dropLast(13)) : text)
    }

    private func signIn(_ request: NetworkRequest) throws -> WebResponse {
        guard let identifier = request["identifier"], let password = request["password"] else {
            throw Self.apiError("InvalidRequest", "Error: Input must have the property \"identifier\"")
        }
        let scopes = ["-password": Self.full, "-app-pass-word": Self.privileged, "-app-pass-only": Self.appPassword]
        let found = person(identifier.hasPrefix("@") ? String(identifier.dropFirst()) : identifier)
        guard let found, let scope = scopes.first(where: { password == found.name + $0.key })?.value else {
            throw Self.apiError("AuthenticationRequired", "Invalid identifier or password", .unauthorized)
        }
        return .jsonValue(session(found, scope: scope, request))
    }

    private func renew(_ request: NetworkRequest) throws -> WebResponse {
        guard let token = request.bearer else {
            throw Self.apiError("AuthMissing", "Authentication Required", .unauthorized)
        }
        guard let grant = grants.renewal(token, once: true), let person = grant.person.flatMap(community.person) else {
            throw Self.apiError("ExpiredToken", "Token has been revoked")
        }
        return .jsonValue(session(person, scope: grant.scopes.first ?? Self.appPassword, request))
    }

    private func session(_ person: Person, scope: String, _ request: NetworkRequest) -> JSONValue {
        let now = Int(clock.now.timeIntervalSince1970)
        let claims: JSONValue = [
            "sub": .string(BlueskyNames.did(person)), "iat": .int(now), "aud": "did:web:sandbox",
            "jti": .string(UUID().uuidString),
        ]
        let access = claims.with(["scope": .string(scope), "exp": .int(now + 7_200)])
        let renewing = claims.with(["scope": "com.atproto.refresh", "exp": .int(now + 7_776_000)])
        let token = BlueskyNames.jwt(access, type: "at+jwt")
        let refresh = BlueskyNames.jwt(renewing, type: "refresh+jwt")
        var grant = grant(person, [scope], for: 7_200)
        grant.refresh = refresh
        grants.put(token, grant)
        return about(person, request).with(["accessJwt": .string(token), "refreshJwt": .string(refresh)])
    }

    private func grant(_ person: Person, _ scopes: Set<String>, for seconds: TimeInterval) -> Grants.Grant {
        Grants.Grant(person: person.number, app: "", scopes: scopes, expiry: clock.now + seconds)
    }

    private func about(_ person: Person, _ request: NetworkRequest) -> JSONValue {
        [
            "did": .string(BlueskyNames.did(person)), "handle": .string(BlueskyNames.handle(person)), "active": true,
            "email": .string("\(person.name)@example.org"), "emailConfirmed": true, "emailAuthFactor": false,
            "didDoc": document(of: person, request),
        ]
    }

    func document(of person: Person, _ request: NetworkRequest) -> JSONValue {
        let server: JSONValue = [
            "id": "#atproto_pds", "type": "AtprotoPersonalDataServer", "serviceEndpoint": .string(request.base),
        ]
        return [
            "@context": ["https://www.w3.org/ns/did/v1"], "id": .string(BlueskyNames.did(person)),
            "service": [server], "alsoKnownAs": [.string("at://\(BlueskyNames.handle(person))")],
            "verificationMethod": [],
        ]
    }
}
