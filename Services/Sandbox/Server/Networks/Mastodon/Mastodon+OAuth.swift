import Foundation
import Locks
import NIOHTTP1
import Wire

/// The apps that registered themselves with the instance.
final class MastodonApps: Sendable {
    struct App: Sendable {
        let name: String
        let redirects: [String]
        let scopes: Set<String>
        let secret: String
    }

    private let apps = Lock<[String: App]>([:])

    subscript(id: String) -> App? {
        apps.withLock { $0[id] }
    }

    func add(_ app: App) -> String {
        let id = Base64URL.random(bytes: 32)
        apps.withLock { $0[id] = app }
        return id
    }
}

extension Mastodon {
    func register(_ request: NetworkRequest) -> WebResponse {
        let redirects = request.all("redirect_uris").flatMap {
            $0.split(whereSeparator: \.isWhitespace).map(String.init)
        }
        guard let name = request["client_name"] else {
            return Self.error("Validation failed: Application name can't be blank", .unprocessableEntity)
        }
        guard !redirects.isEmpty, redirects.allSatisfy({ $0.contains(":") }) else {
            return Self.error("Validation failed: Redirect URI must be an absolute URI.", .unprocessableEntity)
        }
        let scopes = (request["scopes"] ?? "read").split(separator: " ").map(String.init)
        let app = MastodonApps.App(
            name: name,
            redirects: redirects,
            scopes: Set(scopes),
            secret: Base64URL.random(bytes: 32)
        )
        let id = apps.add(app)
        return .jsonValue([
            "id": "2", "name": .string(name), "website": .text(request["website"]),
            "scopes": .list(scopes.map(JSONValue.string)), "redirect_uris": .list(redirects.map(JSONValue.string)),
            "redirect_uri": .string(redirects.joined(separator: "\n")), "client_id": .string(id),
            "client_secret": .string(app.secret), "client_secret_expires_at": 0, "vapid_key": "BCk",
        ])
    }

    func authorization(_ request: NetworkRequest) throws -> WebResponse {
        switch (request.method, request.path.last ?? "") {
        case (.GET, "authorize"), (.POST, "authorize"): authorize(request)
        case (.POST, "token"): token(request)
        case (.POST, "revoke"): revoke(request)
        default: errorResponse(.notFound, of: request)
        }
    }

    private func authorize(_ request: NetworkRequest) -> WebResponse {
        guard let id = request["client_id"], let app = apps[id] else {
            return Self.oauthError("invalid_client", .unauthorized)
        }
        guard request["response_type"] == "code", let redirect = request["redirect_uri"],
            app.redirects.contains(redirect)
        else { return Self.oauthError("invalid_redirect_uri", .badRequest) }
        let scopes = Set((request["scope"] ?? "read").split(separator: " ").map(String.init))
        guard app.covers(scopes) else { return Self.oauthError("invalid_scope", .badRequest) }
        return consent(request, app: id, redirect: redirect, scopes: scopes, now: clock.now)
    }

    private func token(_ request: NetworkRequest) -> WebResponse {
        let id = request["client_id"] ?? request.basic?.name ?? ""
        let secret = request["client_secret"] ?? request.basic?.password
        guard let app = apps[id], app.secret == secret else { return Self.oauthError("invalid_client", .unauthorized) }
        switch request["grant_type"] {
        case "authorization_code":
            guard
                let code = request["code"].flatMap({
                    grants.redeem(
                        $0,
                        app: id,
                        redirect: request["redirect_uri"],
                        verifier: request["code_verifier"]
                    )
                }),
                let person = community.person(code.person)
            else { return Self.oauthError("invalid_grant", .badRequest) }
            return issueToken(person, app: id, scopes: code.scopes)
        case "client_credentials":
            return issueToken(nil, app: id, scopes: app.scopes)
        case "password":
            // Current instances reject this grant, which old clients still send.
            return Self.oauthError("unsupported_grant_type", .badRequest)
        default: return Self.oauthError("unsupported_grant_type", .badRequest)
        }
    }

    private func issueToken(_ person: Person?, app: String, scopes: Set<String>) -> WebResponse {
        let token = person.map(newToken) ?? Base64URL.random(bytes: 32)
        grants.put(token, Grants.Grant(person: person?.number, app: app, scopes: scopes))
        return .jsonValue([
            "access_token": .string(token), "token_type": "Bearer",
            "scope": .string(scopes.sorted().joined(separator: " ")),
            "created_at": .int(Int(clock.now.timeIntervalSince1970)),
        ])
    }

    private func revoke(_ request: NetworkRequest) -> WebResponse {
        guard let id = request["client_id"], let app = apps[id], app.secret == request["client_secret"] else {
            return Self.oauthError("unauthorized_client", .forbidden)
        }
        request["token"].map { _ = grants.revoke($0) }
        return .jsonValue([:])
    }

    private static func oauthError(_ error: String, _ status: HTTPResponseStatus) -> WebResponse {
        .jsonValue(["error": .string(error), "error_description": .string("\(error) (sandbox)")], status)
    }
}

extension MastodonApps.App {
    /// Returns whether the app registered each scope, or a scope that includes it, such as `read` for `read:accounts`.
    fileprivate func covers(_ requested: Set<String>) -> Bool {
        requested.allSatisfy { scope in scopes.contains(scope) || scopes.contains(String(scope.prefix { $0 != ":" })) }
    }
}
