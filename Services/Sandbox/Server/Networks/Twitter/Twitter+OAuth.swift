import Foundation
import NIOHTTP1
import Wire

/// Three-legged OAuth 1.0a, and OAuth 2 with PKCE.
extension Twitter {
    func authorization(_ request: NetworkRequest, _ path: [String]) throws -> WebResponse? {
        switch path.joined(separator: "/") {
        case "oauth/request_token": return try createRequestToken(request)
        case "oauth/authorize", "oauth/authenticate": return approve(request)
        case "oauth/access_token": return try finish(request)
        case "i/oauth2/authorize": return authorize(request)
        case "2/oauth2/token", "oauth2/token": return try token(request)
        case "oauth/invalidate_token", "1.1/oauth/invalidate_token":
            let signed = try verifiedRequest(request)
            signed.token.map { _ = grants.revoke($0) }
            return .jsonValue(["access_token": .text(signed.token)])
        case "2/oauth2/revoke":
            try checkApp(request)
            request["token"].map { _ = grants.revoke($0) }
            return .jsonValue(["revoked": true])
        default: return nil
        }
    }

    private func createRequestToken(_ request: NetworkRequest) throws -> WebResponse {
        let signed = try verifiedRequest(request)
        guard let callback = signed.callback ?? request["oauth_callback"] else {
            throw Self.apiError(215, "Bad Authentication data.", .badRequest)
        }
        let (token, secret) = oauth1.createRequestToken(callback: callback)
        return .text(
            "oauth_token=\(token)&oauth_token_secret=\(secret)&oauth_callback_confirmed=true",
            type: "text/html"
        )
    }

    private func verifiedRequest(_ request: NetworkRequest) throws -> OAuth1Validator.SignedRequest {
        do {
            return try oauth1.validate(request)
        } catch OAuth1Validator.Violation.timestamp {
            throw Self.apiError(135, "Timestamp out of bounds.", .unauthorized)
        } catch {
            throw Self.apiError(32, "Could not authenticate you.", .unauthorized)
        }
    }

    private func approve(_ request: NetworkRequest) -> WebResponse {
        guard let token = request["oauth_token"], let requestToken = oauth1.requestToken(token) else {
            return .html("<p>oauth_token is unknown or has expired.</p>", status: .unauthorized)
        }
        guard let response = ConsentPage.decision(request, among: community) else {
            let page = ConsentPage(network: "Twitter", app: clientID, people: community.people, fields: request.query)
            return .html(page.html)
        }
        guard let person = response, let verifier = oauth1.approve(token, person) else {
            return .redirect(to: ConsentPage.url(requestToken.callback, [("denied", token)]))
        }
        guard requestToken.callback != "oob" else { return .html("<p>Your PIN: <code>\(verifier)</code></p>") }
        let fields = [("oauth_token", token), ("oauth_verifier", verifier)]
        return .redirect(to: ConsentPage.url(requestToken.callback, fields))
    }

    private func finish(_ request: NetworkRequest) throws -> WebResponse {
        let signed = try verifiedRequest(request)
        guard let requestToken = signed.token, let verifier = signed.verifier ?? request["oauth_verifier"],
            let person = oauth1.redeem(requestToken, verifier: verifier).flatMap(community.person)
        else { throw Self.apiError(89, "Invalid or expired token.", .unauthorized) }
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

    private func authorize(_ request: NetworkRequest) -> WebResponse {
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
            let errorResponse: JSONValue = [
                "error": "unauthorized_client", "error_description": "Missing valid authorization header",
            ]
            throw NetworkErrorResponse(.jsonValue(errorResponse, .unauthorized), "unauthorized_client")
        }
    }

    private func token(_ request: NetworkRequest) throws -> WebResponse {
        if request["grant_type"] == "client_credentials" {
            try checkApp(request)
            return .jsonValue(["token_type": "bearer", "access_token": .string("\(clientID)-app-token")])
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
            return issueToken(person, code.scopes)
        case "refresh_token":
            guard let grant = request["refresh_token"].flatMap({ grants.renewal($0, once: true) }),
                let person = grant.person.flatMap(community.person)
            else { return invalid("Value passed for the token was invalid.") }
            return issueToken(person, grant.scopes)
        default: return invalid("Missing required parameter [grant_type].")
        }
    }

    private func invalid(_ text: String) -> WebResponse {
        .jsonValue(["error": "invalid_request", "error_description": .string(text)], .badRequest)
    }

    private func issueToken(_ person: Person, _ scopes: Set<String>) -> WebResponse {
        let token = newToken(person)
        let refresh = scopes.contains("offline.access") ? "\(token)-refresh" : nil
        return .jsonValue(
            grant(token, to: person, scopes: scopes, lifetime: 7_200, refresh: refresh, now: clock.now)
        )
    }
}
