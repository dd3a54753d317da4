import Foundation
import NIOHTTP1
import Wire

/// The three legs of OAuth 1.0a, and OAuth 2 with PKCE.
extension Twitter {
    func authorization(_ request: NetworkRequest, _ path: [String]) throws -> WebAnswer? {
        switch path.joined(separator: "/") {
        case "oauth/request_token": return try ask(request)
        case "oauth/authorize", "oauth/authenticate": return allow(request)
        case "oauth/access_token": return try finish(request)
        case "i/oauth2/authorize": return authorize(request)
        case "2/oauth2/token", "oauth2/token": return try token(request)
        case "oauth/invalidate_token", "1.1/oauth/invalidate_token":
            let signed = try legSigned(request)
            signed.token.map { _ = grants.revoke($0) }
            return .written(["access_token": .text(signed.token)])
        case "2/oauth2/revoke":
            try checkApp(request)
            request["token"].map { _ = grants.revoke($0) }
            return .written(["revoked": true])
        default: return nil
        }
    }

    private func ask(_ request: NetworkRequest) throws -> WebAnswer {
        let signed = try legSigned(request)
        guard let callback = signed.callback ?? request["oauth_callback"] else {
            throw Self.flaw(215, "Bad Authentication data.", .badRequest)
        }
        let (token, secret) = judge.ask(callback: callback)
        return .text(
            "oauth_token=\(token)&oauth_token_secret=\(secret)&oauth_callback_confirmed=true",
            type: "text/html"
        )
    }

    private func legSigned(_ request: NetworkRequest) throws -> OAuth1Judge.Signed {
        do {
            return try judge.judge(request)
        } catch OAuth1Judge.Flaw.timestamp {
            throw Self.flaw(135, "Timestamp out of bounds.", .unauthorized)
        } catch {
            throw Self.flaw(32, "Could not authenticate you.", .unauthorized)
        }
    }

    private func allow(_ request: NetworkRequest) -> WebAnswer {
        guard let token = request["oauth_token"], let asking = judge.asking(token) else {
            return .html("<p>There is no request token for this page.</p>", status: .unauthorized)
        }
        guard let answer = ConsentPage.answer(request, among: community) else {
            let page = ConsentPage(network: "Twitter", app: clientID, people: community.people, fields: request.query)
            return .html(page.html)
        }
        guard let person = answer, let verifier = judge.allow(token, person) else {
            return .redirect(to: ConsentPage.url(asking.callback, [("denied", token)]))
        }
        guard asking.callback != "oob" else { return .html("<p>Your PIN: <code>\(verifier)</code></p>") }
        let fields = [("oauth_token", token), ("oauth_verifier", verifier)]
        return .redirect(to: ConsentPage.url(asking.callback, fields))
    }

    private func finish(_ request: NetworkRequest) throws -> WebAnswer {
        let signed = try legSigned(request)
        guard let asked = signed.token, let verifier = signed.verifier ?? request["oauth_verifier"],
            let person = judge.finish(asked, verifier: verifier).flatMap(community.person)
        else { throw Self.flaw(89, "Invalid or expired token.", .unauthorized) }
        let token = "\(person.id)-\(newToken(person))"
        let secret = Base64URL.random(bytes: 30)
        var grant = Grants.Grant(person: person.number, app: clientID, scopes: Self.scopes)
        grant.secret = secret
        grants.put(token, grant)
        return .text(
            "oauth_token=\(token)&oauth_token_secret=\(secret)&user_id=\(person.id)&screen_name=\(person.name)",
            type: "text/html"
        )
    }

    // MARK: OAuth 2

    private func authorize(_ request: NetworkRequest) -> WebAnswer {
        let scopes = Set((request["scope"] ?? "").split(separator: " ").map(String.init))
        guard request["client_id"] == clientID, request["response_type"] == "code",
            let redirect = request["redirect_uri"], redirect.contains("://"), request["state"] != nil,
            request["code_challenge"] != nil, request["code_challenge_method"] == "S256",
            !scopes.isEmpty, Self.scopes.isSuperset(of: scopes)
        else {
            return .html(
                "<p>Something went wrong. You weren't able to give access to the App.</p>",
                status: .badRequest
            )
        }
        return consent(request, app: clientID, redirect: redirect, scopes: scopes, lifetime: 30, now: clock.now)
    }

    private func checkApp(_ request: NetworkRequest) throws {
        let isConfidential = request.basic.map { $0.name == clientID && $0.password == clientSecret }
        guard isConfidential ?? (request["client_id"] == clientID) else {
            let refusal: JSONValue = [
                "error": "unauthorized_client", "error_description": "Missing valid authorization header",
            ]
            throw NetworkRefusal(.written(refusal, .unauthorized), "unauthorized_client")
        }
    }

    private func token(_ request: NetworkRequest) throws -> WebAnswer {
        if request["grant_type"] == "client_credentials" {
            try checkApp(request)
            return .written(["token_type": "bearer", "access_token": .string("\(clientID)-app-token")])
        }
        try checkApp(request)
        switch request["grant_type"] {
        case "authorization_code":
            guard
                let code = request["code"].flatMap({
                    grants.redeem(
                        $0,
                        app: clientID,
                        redirect: request["redirect_uri"],
                        verifier: request["code_verifier"]
                    )
                }), let person = community.person(code.person)
            else { return invalid("Value passed for the authorization code was invalid.") }
            return give(person, code.scopes)
        case "refresh_token":
            guard let grant = request["refresh_token"].flatMap({ grants.renewal($0, once: true) }),
                let person = grant.person.flatMap(community.person)
            else { return invalid("Value passed for the token was invalid.") }
            return give(person, grant.scopes)
        default: return invalid("Missing required parameter [grant_type].")
        }
    }

    private func invalid(_ text: String) -> WebAnswer {
        .written(["error": "invalid_request", "error_description": .string(text)], .badRequest)
    }

    private func give(_ person: Person, _ scopes: Set<String>) -> WebAnswer {
        let token = newToken(person)
        let refresh = scopes.contains("offline.access") ? "\(token)-refresh" : nil
        return .written(
            grant(token, to: person, scopes: scopes, lifetime: 7_200, refresh: refresh, now: clock.now)
        )
    }
}
