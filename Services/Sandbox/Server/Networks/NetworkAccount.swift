import Foundation
import Wire

/// The credentials with which an app can act for a person on a network.
package struct NetworkAccount: Codable, Sendable {
    package var name: String
    package var id: String
    package var accessToken: String
    package var accessTokenSecret: String?
    package var refreshToken: String?
    package var password: String?
}

/// A simulated network: its address, the registered app and the accounts.
package struct NetworkDescription: Codable, Sendable {
    package var network: String
    package var url: String
    package var clientId: String
    package var clientSecret: String
    package var accounts: [NetworkAccount]
}

enum GrantError: Error {
    case unknown
    case expired
}

extension FakeNetwork {
    var clientID: String { "roost-\(service.rawValue)" }
    var clientSecret: String { "roost-\(service.rawValue)-secret" }

    func caller(token: String) throws(GrantError) -> Caller {
        switch grants.find(token) {
        case .unknown: throw .unknown
        case .expired: throw .expired
        case .valid(let grant):
            guard let number = grant.person else {
                return Caller(person: .anonymous, token: token, scopes: grant.scopes, app: grant.app)
            }
            guard let person = community.person(number) else { throw .unknown }
            return Caller(person: person, token: token, scopes: grant.scopes, app: grant.app)
        }
    }

    /// Returns the token that is always the same for a person.
    func fixedToken(_ person: Person) -> String { "sandbox-\(service.rawValue)-\(person.name)" }

    func newToken(_ person: Person) -> String { "\(fixedToken(person))-\(UUID().uuidString.lowercased())" }

    /// Stores a bearer token that is valid for `lifetime` seconds, and returns the token response (RFC 6749, section
    /// 5.1).
    func grant(
        _ token: String,
        to person: Person?,
        scopes: Set<String>,
        lifetime: Int,
        refresh: String?,
        now: Date
    ) -> JSONValue {
        grants.put(
            token,
            Grants.Grant(
                person: person?.number,
                app: clientID,
                scopes: scopes,
                expiry: now + Double(lifetime),
                refresh: refresh
            )
        )
        let response: JSONValue = [
            "access_token": .string(token), "token_type": "bearer", "expires_in": .int(lifetime),
            "scope": .string(scopes.sorted().joined(separator: " ")),
        ]
        return refresh.map { response.with(["refresh_token": .string($0)]) } ?? response
    }

    /// Shows the consent page, or redirects the user back with a code that is valid for `lifetime` seconds.
    func consent(
        _ request: NetworkRequest,
        app: String,
        redirect: String,
        scopes: Set<String>,
        lifetime: TimeInterval = 600,
        now: Date
    ) -> WebResponse {
        guard let response = ConsentPage.decision(request, among: community) else {
            let page = ConsentPage(
                network: service.rawValue.capitalized,
                app: app,
                people: community.people,
                fields: request.query
            )
            return .html(page.html)
        }
        guard let person = response else {
            return .redirect(
                to: ConsentPage.url(redirect, [("error", "access_denied"), ("state", request["state"])])
            )
        }
        let code = grants.code(
            Grants.Code(
                person: person.number,
                app: app,
                redirect: redirect,
                scopes: scopes,
                challenge: request["code_challenge_method"] == nil && request["code_challenge"] == nil
                    ? nil : request["code_challenge"],
                expiry: now + lifetime
            )
        )
        guard redirect.contains("://") else { return .html("<p>Your code: <code>\(code)</code></p>") }
        return .redirect(to: ConsentPage.url(redirect, [("code", code), ("state", request["state"])]))
    }
}
