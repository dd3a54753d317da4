import Foundation
import NIOHTTP1
import Wire

/// The consent page, and the exchange of codes for tokens (OpenID Connect Core, section 3.1).
extension OpenIDIssuer {
    /// Returns the error of an invalid authorization request.
    ///
    /// The page shows the error, and the application does not receive it.
    private func violation(of request: NetworkRequest) -> String? {
        guard request["client_id"] == clientID else { return "Error 401: invalid_client" }
        guard let redirect = request["redirect_uri"], isRegistered(redirect) else {
            return "Error 400: redirect_uri_mismatch"
        }
        let scopes = Set((request["scope"] ?? "").split(separator: " ").map(String.init))
        let supported: Set = isApple ? ["openid", "email", "name"] : ["openid", "email", "profile"]
        guard request["response_type"] == "code", scopes.contains("openid"), supported.isSuperset(of: scopes) else {
            return "Error 400: invalid_request"
        }
        // Apple returns email addresses and names only by `form_post`.
        if isApple, scopes != ["openid"], request["response_mode"] != "form_post" { return "invalid_request" }
        guard request["code_challenge"] == nil || request["code_challenge_method"] == "S256" else {
            return "Error 400: invalid_request"
        }
        return nil
    }

    func authorize(_ request: NetworkRequest) -> WebResponse {
        if let violation = violation(of: request) {
            return .html("<h1>Access blocked</h1><p>\(violation)</p>", status: .badRequest)
        }
        guard let response = ConsentPage.decision(request, among: community) else {
            let page = ConsentPage(
                network: isApple ? "Apple" : "Google",
                app: clientID,
                people: community.people,
                fields: request.query
            )
            return .html(page.html)
        }
        var fields: [(name: String, value: String?)] = [("state", request["state"])]
        if !isApple { fields.append(("iss", issuer(at: request.origin))) }
        guard let person = response else {
            return redirectBack(fields + [("error", isApple ? "user_cancelled_authorize" : "access_denied")], request)
        }
        var code = Grants.Code(
            person: person.number,
            app: clientID,
            redirect: request["redirect_uri"] ?? "",
            scopes: Set((request["scope"] ?? "").split(separator: " ").map(String.init)),
            // Apple does not support PKCE.
            challenge: isApple ? nil : request["code_challenge"],
            expiry: clock.now + 300
        )
        code.nonce = request["nonce"]
        fields.append(("code", grants.code(code)))
        if isApple, code.scopes.contains("name"), isFirstNameDisclosure(of: person.number) {
            let words = person.displayName.split(separator: " ", maxSplits: 1).map(String.init)
            let name: JSONValue = ["firstName": .string(words[0]), "lastName": .string(words.last ?? "")]
            fields.append(("user", JSONValue.object(["name": name]).line))
        }
        return redirectBack(fields, request)
    }

    private func redirectBack(_ fields: [(name: String, value: String?)], _ request: NetworkRequest) -> WebResponse {
        let redirect = request["redirect_uri"] ?? ""
        guard request["response_mode"] == "form_post" else {
            return .redirect(to: ConsentPage.url(redirect, fields))
        }
        let inputs = fields.compactMap { field in
            field.value.map {
                "<input type=\"hidden\" name=\"\(field.name)\" value=\"\(ConsentPage.escaped($0))\">"
            }
        }
        return .html(
            """
            <!doctype html><html lang="en"><meta charset="utf-8"><title>Apple</title><body onload="document.forms[0].submit()">
            <form method="post" action="\(ConsentPage.escaped(redirect))">\(inputs.joined())<button>Continue</button></form>
            </body></html>
            """
        )
    }

    // MARK: Tokens

    func token(_ request: NetworkRequest) -> WebResponse {
        guard isKnownClient(request) else {
            return .jsonValue(["error": "invalid_client"], isApple ? .badRequest : .unauthorized)
        }
        switch request["grant_type"] {
        case "authorization_code":
            let code = request["code"].flatMap {
                grants.redeem(
                    $0,
                    app: clientID,
                    redirect: request["redirect_uri"] ?? "",
                    verifier: request["code_verifier"]
                )
            }
            guard let code, let person = community.person(code.person) else {
                return .jsonValue(["error": "invalid_grant", "error_description": "Bad Request"], .badRequest)
            }
            return issueToken(person, code, at: request.origin)
        default: return .jsonValue(["error": "unsupported_grant_type"], .badRequest)
        }
    }

    func appCode(of person: Person) -> String {
        grants.code(
            Grants.Code(
                person: person.number,
                app: clientID,
                redirect: "",
                scopes: ["openid", "email"],
                challenge: nil,
                expiry: clock.now + 300
            )
        )
    }

    private func issueToken(_ person: Person, _ code: Grants.Code, at origin: String) -> WebResponse {
        let token = newToken(person)
        let refresh = "\(token)-refresh"
        grants.put(
            token,
            Grants.Grant(
                person: person.number,
                app: clientID,
                scopes: code.scopes,
                expiry: clock.now + 3_599,
                refresh: refresh
            )
        )
        var claims = claims(of: person, for: clientID, at: origin)
        claims["nonce"] = code.nonce.map { .string($0) }
        for (scope, names) in [("email", ["email", "email_verified"]), ("profile", ["name", "picture"])]
        where !code.scopes.contains(scope) {
            for name in names { claims[name] = nil }
        }
        do {
            return .jsonValue([
                "access_token": .string(token), "expires_in": 3_599, "token_type": "Bearer",
                "refresh_token": .string(refresh), "id_token": .string(try idToken(claims)),
                "scope": .string(code.scopes.sorted().joined(separator: " ")),
            ])
        } catch {
            return .jsonValue(["error": "server_error"], .internalServerError)
        }
    }

    func revoke(_ request: NetworkRequest) -> WebResponse {
        if isApple, !isKnownClient(request) { return .jsonValue(["error": "invalid_client"], .badRequest) }
        guard let token = request["token"], grants.revoke(token) else {
            // Apple does not disclose whether the token existed.
            return isApple ? .jsonValue([:]) : .jsonValue(["error": "invalid_token"], .badRequest)
        }
        revoked(token)
        return .jsonValue([:])
    }

    private func isKnownClient(_ request: NetworkRequest) -> Bool {
        let (id, secret) =
            request.basic.map { ($0.name, Optional($0.password)) }
            ?? (request["client_id"] ?? "", request["client_secret"])
        guard id == clientID, let secret else { return false }
        switch kind {
        case .google: return secret == clientSecret
        case .apple(let accounts): return AppleSecret.isValid(secret, of: clientID, accounts, at: clock.now)
        }
    }
}
