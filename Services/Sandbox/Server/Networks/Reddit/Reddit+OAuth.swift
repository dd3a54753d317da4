import Foundation
import NIOHTTP1
import Wire

extension Reddit {
    func authorize(_ request: NetworkRequest) -> WebResponse {
        guard request["client_id"] == clientID else {
            return .html("<h1>bad request (reddit.com)</h1>", status: .badRequest)
        }
        guard let redirect = request["redirect_uri"], redirect.contains("://"), request["response_type"] == "code",
            request["state"] != nil, let scope = request["scope"]
        else { return .html("<h1>bad request (reddit.com)</h1><p>invalid request</p>", status: .badRequest) }
        let scopes = Set(scope.split { $0 == " " || $0 == "," }.map(String.init))
        return consent(
            request,
            app: "\(clientID) \(request["duration"] ?? "temporary")",
            redirect: redirect,
            scopes: scopes,
            now: clock.now
        )
    }

    func checkApp(_ request: NetworkRequest) throws {
        guard let basic = request.basic, basic.name == clientID, basic.password == clientSecret else {
            throw unauthorized("bad app")
        }
    }

    func token(_ request: NetworkRequest) -> WebResponse {
        guard let basic = request.basic, basic.name == clientID, basic.password == clientSecret else {
            return .jsonValue(["message": "Unauthorized", "error": 401], .unauthorized)
        }
        switch request["grant_type"] {
        case "authorization_code":
            for duration in ["permanent", "temporary"] {
                guard
                    let code = request["code"].flatMap({
                        grants.redeem(
                            $0,
                            app: "\(clientID) \(duration)",
                            redirect: request["redirect_uri"],
                            verifier: nil,
                            keepsMismatched: true
                        )
                    }),
                    let person = community.person(code.person)
                else { continue }
                return issueToken(person, scopes: code.scopes, renewable: duration == "permanent")
            }
            return .jsonValue(["error": "invalid_grant"])
        case "refresh_token":
            guard let refresh = request["refresh_token"], let grant = grants.renewal(refresh, once: false),
                let person = grant.person.flatMap(community.person)
            else { return .jsonValue(["message": "Bad Request", "error": 400], .badRequest) }
            return issueToken(person, scopes: grant.scopes, refresh: refresh)
        case "client_credentials", "https://oauth.reddit.com/grants/installed_client":
            return issueToken(nil, scopes: ["*"])
        case "password":
            guard let person = request["username"].flatMap({ community.person(named: $0) }),
                request["password"] == "\(person.name)-password"
            else { return .jsonValue(["error": "invalid_grant"]) }
            return issueToken(person, scopes: ["*"])
        default: return .jsonValue(["error": "unsupported_grant_type"])
        }
    }

    private func issueToken(
        _ person: Person?,
        scopes: Set<String>,
        renewable: Bool = false,
        refresh: String? = nil
    ) -> WebResponse {
        let token = person.map(newToken) ?? Base64URL.random(bytes: 24)
        let refresh = refresh ?? (renewable ? "\(token)-refresh" : nil)
        return .jsonValue(
            grant(token, to: person, scopes: scopes, lifetime: 86_400, refresh: refresh, now: clock.now)
        )
    }
}
