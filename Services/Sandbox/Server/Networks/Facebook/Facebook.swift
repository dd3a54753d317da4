import Foundation
import NIOHTTP1
import Wire

/// Facebook's Graph API: the current API for Pages, and a person's home, inbox and notifications as in v2.3 (until
/// 2015).
///
/// Each person has one Page with a token of its own.
struct Facebook: FakeNetwork {
    let service = SandboxService.facebook
    let community: Community
    let grants: Grants
    let clock: SandboxClock
    let media: MediaStore
    let hooks: MetaWebhooks

    init(_ parts: NetworkParts) {
        clock = parts.clock
        media = parts.media
        community = parts.community(offset: 317, ids: .serial(from: 1_116_689_038_356_000, step: 17))
        grants = Grants(clock: parts.clock)
        hooks = MetaWebhooks(parts.calls, secret: "roost-facebook-secret")
        for person in community.people { _ = account(person) }
        listen()
    }

    func account(_ person: Person) -> NetworkAccount {
        let token = fixedToken(person)
        if case .unknown = grants.find(token) {
            grants.put(token, Grants.Grant(person: person.number, app: clientID, scopes: ["public_profile", "email"]))
            grants.put(
                "\(token)-page",
                Grants.Grant(person: person.number, app: clientID, scopes: ["page"], kind: "page")
            )
        }
        return NetworkAccount(name: person.name, id: String(person.id), accessToken: token)
    }

    var deliveries: WebhookSender? { hooks.deliveries }

    // MARK: Authentication

    func caller(of request: NetworkRequest) throws -> Caller? {
        let path = request.path.joined(separator: "/")
        guard !path.contains("dialog/oauth"), !path.hasSuffix("oauth/access_token") else { return nil }
        let token = try Meta.token(of: request, secret: clientSecret)
        if token == "\(clientID)|\(clientSecret)" {
            return Caller(person: .anonymous, token: token, scopes: ["app"], app: clientID)
        }
        do {
            return try caller(token: token)
        } catch GrantError.expired {
            throw Meta.expired
        } catch GrantError.unknown {
            throw Meta.error(190, "Invalid OAuth access token - Cannot parse access token", .unauthorized)
        }
    }

    // MARK: Rate limits and errors

    func budget(for request: NetworkRequest, by caller: Caller?) -> RateBudget? {
        caller.map { _ in RateBudget(name: "hour", limit: 2_400, window: 3_600) }
    }

    func fields(of limitStatus: RateLimitStatus, at time: Date) -> HTTPHeaders { Meta.fields(of: limitStatus) }

    func errorResponse(_ failure: NetworkFailure, of request: NetworkRequest) -> WebResponse {
        Meta.errorResponse(failure, at: clock.now)
    }

    // MARK: Routes

    func reply(to request: NetworkRequest, by caller: Caller?) throws -> ResponseAction {
        var path = request.path
        if let version = path.first, version.firstMatch(of: /^v\d+\.\d+$/) != nil { path.removeFirst() }
        switch path.joined(separator: "/") {
        case "dialog/oauth": return .response(authorize(request))
        case "oauth/access_token": return .response(try token(request))
        default: break
        }
        guard let caller else { return .response(errorResponse(.notFound, of: request)) }
        if path.last == "subscriptions" {
            guard caller.scopes == ["app"] else {
                throw Meta.error(15, "(#15) This method must be called with an app access_token.")
            }
            return hooks.subscribe(request)
        }
        if path.last == "subscribed_apps" { return .response(try subscribedApps(path, request, caller)) }
        let view = FacebookView(
            community: community,
            request: request,
            viewer: caller.person,
            isPersonal: !caller.scopes.contains("page")
        )
        let response =
            request.method == .GET
            ? try read(path, request, view) : try write(path, request, view, caller)
        return .response(response ?? errorResponse(.notFound, of: request))
    }

    /// Handles `/{page}/subscribed_apps`.
    ///
    /// Only the Page's own token can subscribe the app to the Page's events.
    private func subscribedApps(_ path: [String], _ request: NetworkRequest, _ caller: Caller) throws -> WebResponse {
        let page = FacebookView.page(of: caller.person)
        guard caller.scopes.contains("page"), path.count == 2, ["me", page].contains(path[0]) else {
            throw Meta.error(210, "(#210) A page access token is required to request this resource.")
        }
        return try hooks.apps(request, of: page, app: clientID)
    }

    // MARK: OAuth

    private func authorize(_ request: NetworkRequest) -> WebResponse {
        guard request["client_id"] == clientID, let redirect = request["redirect_uri"], redirect.contains("://") else {
            return .html("<h1>Invalid App ID</h1>", status: .badRequest)
        }
        let scopes = Set((request["scope"] ?? "public_profile").split(separator: ",").map(String.init))
        return consent(request, app: clientID, redirect: redirect, scopes: scopes, now: clock.now)
    }

    private func token(_ request: NetworkRequest) throws -> WebResponse {
        guard request["client_id"] == clientID, request["client_secret"] == clientSecret else {
            throw Meta.error(1, "Error validating client secret.")
        }
        let person: Person?
        let lifetime: TimeInterval
        var scopes: Set = ["public_profile"]
        switch request["grant_type"] {
        case "client_credentials":
            return .jsonValue(["access_token": .string("\(clientID)|\(clientSecret)"), "token_type": "bearer"])
        case "fb_exchange_token":
            guard let old = request["fb_exchange_token"], let found = try? caller(token: old) else {
                throw Meta.expired
            }
            (person, lifetime) = (found.person, 5_184_000)
        default:
            let code = request["code"].flatMap {
                grants.redeem(
                    $0,
                    app: clientID,
                    redirect: request["redirect_uri"],
                    verifier: request["code_verifier"]
                )
            }
            scopes = code?.scopes ?? scopes
            (person, lifetime) = (code.flatMap { community.person($0.person) }, 5_400)
        }
        guard let person else { throw Meta.error(100, "This authorization code has been used.", subcode: 36_009) }
        let token = newToken(person)
        let expiry = clock.now + lifetime
        grants.put(
            token,
            Grants.Grant(person: person.number, app: clientID, scopes: scopes, expiry: expiry)
        )
        return .jsonValue(["access_token": .string(token), "token_type": "bearer", "expires_in": .int(Int(lifetime))])
    }

    // MARK: Events

    private func listen() {
        _ = community.listen { [community, hooks, clock] event in
            let view = { (person: Int) in FacebookView.page(of: community.person(person) ?? .anonymous) }
            let now = JSONValue.int(Int(clock.now.timeIntervalSince1970))
            switch event {
            case .posted(let post):
                let owner = post.parent.flatMap { community.post($0) }
                let about = owner ?? post
                let author = community.person(post.author) ?? .anonymous
                let value: JSONValue = [
                    "item": owner == nil ? "status" : "comment", "verb": "add", "message": .string(post.text),
                    "post_id": .string("\(view(about.author))_\(about.id)"), "created_time": now,
                    "comment_id": owner == nil ? .null : .string("\(about.id)_\(post.id)"),
                    "from": ["id": .string(view(post.author)), "name": .string(author.displayName)],
                ]
                let change: JSONValue = ["field": "feed", "value": value]
                hooks.send("page", "feed", of: view(about.author), ["time": now, "changes": [change]])
            case .messageSent(let messageThread, let message):
                for member in messageThread.members {
                    let other = messageThread.members.first { $0 != message.sender } ?? message.sender
                    let messaging: JSONValue = [
                        "sender": ["id": .string(view(message.sender))], "recipient": ["id": .string(view(other))],
                        "timestamp": .int(Int(message.createdAt.timeIntervalSince1970 * 1_000)),
                        "message": [
                            "mid": .string("m_\(message.id)"), "text": .string(message.text),
                            "is_echo": .bool(message.sender == member),
                        ],
                    ]
                    // The webhook reports a Page's own message as an echo, in a separate field.
                    let field = message.sender == member ? "message_echoes" : "messages"
                    hooks.send("page", field, of: view(member), ["time": now, "messaging": [messaging]])
                }
            default: break
            }
        }
    }
}
