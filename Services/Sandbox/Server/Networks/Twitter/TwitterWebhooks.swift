import Crypto
import Foundation
import Locks
import NIOCore
import NIOHTTP1
import Wire

/// Account Activity: the webhooks that passed their challenge, and the people whose events are sent.
final class TwitterWebhooks: Sendable {
    struct Webhook: Sendable {
        let id: String
        let url: String
        let createdAt: Date
        var isValid: Bool
    }

    private struct State {
        var hooks: [Webhook] = []
        /// The numbers of the people whose events are sent.
        var subscribed: Set<Int> = []
        var last = 1_234_567_889
    }

    let deliveries: WebhookSender
    private let calls: OutgoingRequests
    private let community: Community
    private let secret: String
    private let clock: SandboxClock
    private let state = Lock(State())

    init(_ calls: OutgoingRequests, community: Community, secret: String, clock: SandboxClock) {
        self.calls = calls
        deliveries = WebhookSender(calls)
        self.community = community
        self.secret = secret
        self.clock = clock
    }

    var hooks: [Webhook] { state.withLock { $0.hooks } }

    func subscribe(_ person: Int, _ isSubscribed: Bool = true) {
        state.withLock { state in
            if isSubscribed { state.subscribed.insert(person) } else { state.subscribed.remove(person) }
        }
    }

    func isSubscribed(_ person: Int) -> Bool { state.withLock { $0.subscribed.contains(person) } }

    func remove(_ id: String) -> Bool {
        state.withLock { state in
            let count = state.hooks.count
            state.hooks.removeAll { $0.id == id }
            return state.hooks.count < count
        }
    }

    /// Challenges an address, and adds a webhook when the address responds correctly.
    func add(_ url: String) async -> Webhook? {
        guard await passesChallenge(url) else { return nil }
        return state.withLock { state in
            state.last += 1
            let hook = Webhook(id: String(state.last), url: url, createdAt: clock.now, isValid: true)
            state.hooks.append(hook)
            return hook
        }
    }

    /// Sends the challenge (CRC), and returns whether the response has a signature with the app's secret.
    func passesChallenge(_ url: String) async -> Bool {
        let token = Base64URL.random(bytes: 24)
        guard let response = await calls.get(ConsentPage.url(url, [("crc_token", token)])), response.status == 200
        else {
            return false
        }
        // A response that is not JSON fails the challenge.
        let json = try? JSONParser.parse(response.body.utf8)
        return json?["response_token"]?.text == signature(Data(token.utf8))
    }

    private func signature(_ bytes: some DataProtocol) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: Data(secret.utf8)))
        return "sha256=" + Data(code).base64EncodedString()
    }

    // MARK: Events

    func listen() {
        _ = community.listen { [self] event in deliver(event) }
    }

    private func deliver(_ event: CommunityEvent) {
        let view = TwitterView(community: community, origin: "http://127.0.0.1:8090", viewer: .anonymous)
        switch event {
        case .posted(let post):
            var recipients: Set<Int> = [post.author]
            if let parent = post.parent.flatMap({ community.post($0) }) { recipients.insert(parent.author) }
            if let original = post.original.flatMap({ community.post($0) }) { recipients.insert(original.author) }
            recipients.formUnion(Community.mentions(in: post.text).compactMap { community.person(named: $0)?.number })
            for person in recipients { send("tweet_create_events", [view.tweet(post, isExtended: false)], to: person) }
        case .deleted(let post):
            let id = JSONValue.string(String(community.person(post.author)?.id ?? 0))
            let status: JSONValue = ["id": .string(String(post.id)), "user_id": id]
            send("tweet_delete_events", [["status": status, "timestamp_ms": .string(milliseconds)]], to: post.author)
        case .liked(let post, let person):
            let event: JSONValue = [
                "id": .string(StableText.hex(of: "like \(post.id) \(person)").prefix(32).description),
                "created_at": .string(TwitterView.time(clock.now)), "timestamp_ms": .string(milliseconds),
                "favorited_status": view.tweet(post, isExtended: false),
                "user": view.user(community.person(person) ?? .anonymous),
            ]
            for each in Set([post.author, person]) { send("favorite_events", [event], to: each) }
        case .messageSent(let messageThread, let message):
            for person in messageThread.members {
                let people = messageThread.members.compactMap { community.person($0) }
                let users = Dictionary(uniqueKeysWithValues: people.map { (String($0.id), view.user($0)) })
                send(
                    "direct_message_events",
                    [view.event(message, in: messageThread)],
                    to: person,
                    ["users": .object(users)]
                )
            }
        case .notified(let notice) where notice.kind == .follow:
            let follow: JSONValue = [
                "type": "follow", "created_timestamp": .string(milliseconds),
                "target": view.user(community.person(notice.recipient) ?? .anonymous),
                "source": view.user(community.person(notice.actor) ?? .anonymous),
            ]
            send("follow_events", [follow], to: notice.recipient)
        case .edited, .notified: break
        }
    }

    private var milliseconds: String { String(Int(clock.now.timeIntervalSince1970 * 1_000)) }

    private func send(_ kind: String, _ events: [JSONValue], to person: Int, _ more: [String: JSONValue] = [:]) {
        let hooks = state.withLock { $0.subscribed.contains(person) ? $0.hooks.filter(\.isValid) : [] }
        guard !hooks.isEmpty, let id = community.person(person)?.id else { return }
        let body: JSONValue = ["for_user_id": .string(String(id)), kind: .array(events)]
        let bytes = Data(body.with(more).line.utf8)
        for hook in hooks {
            deliveries.send(
                WebhookSender.Delivery(
                    url: hook.url,
                    headers: [
                        "content-type": "application/json", "x-twitter-webhooks-signature": signature(bytes),
                    ],
                    body: ByteBuffer(bytes: bytes)
                )
            )
        }
    }
}

extension Twitter {
    /// Handles `webhooks` of the app and `subscriptions` of people.
    func webhooks(_ request: NetworkRequest, _ path: [String], by caller: Caller) throws -> ResponseAction {
        let isV2 = request.path.first == "2"
        let view: @Sendable (TwitterWebhooks.Webhook) -> JSONValue = { hook in
            [
                "id": .string(hook.id), "url": .string(hook.url), "valid": .bool(hook.isValid),
                "created_at": .string(Timestamp.string(from: hook.createdAt)),
            ]
        }
        if path.contains("subscriptions") {
            guard !caller.scopes.contains("app") else {
                throw isV2
                    ? Self.problem(403, "Forbidden")
                    : Self.apiError(99, "Unable to verify your credentials.", .forbidden)
            }
            // API v2 names the webhook by its id, and 1.1 by an environment, which has one webhook.
            guard !isV2 || hooks.hooks.contains(where: { path.contains($0.id) }) else {
                return .response(errorResponse(.notFound, of: request))
            }
            hooks.subscribe(caller.person.number, request.method != .DELETE)
            let isSubscribed = request.method != .DELETE
            return .response(isV2 ? .jsonValue(["data": ["subscribed": .bool(isSubscribed)]]) : WebResponse(.noContent))
        }
        guard !isV2 || caller.scopes.contains("app") else { throw Self.problem(403, "Forbidden") }
        switch request.method {
        case .GET:
            let all = JSONValue.list(hooks.hooks.map(view))
            return .response(.jsonValue(isV2 ? ["data": all, "meta": ["result_count": .int(hooks.hooks.count)]] : all))
        case .DELETE:
            guard path.last.map(hooks.remove) == true else { return .response(errorResponse(.notFound, of: request)) }
            return .response(isV2 ? .jsonValue(["data": ["deleted": true]]) : WebResponse(.noContent))
        case .POST:
            guard let url = request["url"], url.hasPrefix("http") else {
                throw isV2
                    ? Self.problem(400, "Invalid Request", detail: "UrlValidationFailed")
                    : Self.apiError(214, "Webhook URL does not meet the requirements.", .badRequest)
            }
            guard !hooks.hooks.contains(where: { $0.url == url }) else {
                throw isV2
                    ? Self.problem(400, "Invalid Request", detail: "DuplicateUrlFailed")
                    : Self.apiError(214, "Webhook URL is registered already.", .badRequest)
            }
            return .later { [hooks] in
                guard let hook = await hooks.add(url) else {
                    return isV2
                        ? Self.problem(400, "Invalid Request", detail: "CrcValidationFailed").response
                        : Self.apiError(214, "Webhook URL does not meet the requirements.", .badRequest).response
                }
                return .jsonValue(isV2 ? ["data": view(hook)] : view(hook))
            }
        default: return .response(errorResponse(.notFound, of: request))
        }
    }
}
