import Foundation
import NIOCore
import NIOHTTP1
import Wire

/// A media container: media that Instagram has fetched or is fetching, before it is published.
struct InstagramContainer: OwnedItem {
    let owner: Int
    let draft: Community.Draft
    let at: Date
    /// The value of `status_code`.
    var status = "IN_PROGRESS"
    var attachment: Attachment?
}

extension Instagram {
    func graph(_ request: NetworkRequest, _ path: [String], _ view: InstagramView) throws -> WebResponse? {
        guard let first = path.first else { return nil }
        let own = view.viewer
        if path.count == 1 { return object(first, request, view) }
        let isOwn = view.person(first)?.number == own.number
        switch (request.method, path[1]) {
        case (.GET, "media") where isOwn:
            let posts = community.posts(PostRange(limit: 10_000)) { $0.author == own.number && $0.parent == nil }.posts
            return .jsonValue(Meta.page(request, posts, { $0.id }, view.media))
        case (.GET, "conversations") where isOwn:
            return .jsonValue(
                Meta.page(
                    request,
                    community.messageThreads(of: own.number),
                    { $0.messages.last?.id ?? 0 },
                    view.messageThread
                )
            )
        case (.GET, "messages"):
            guard let messageThread = messageThread(first, view) else { return nil }
            let newest = Array(messageThread.messages.suffix(20).reversed())
            return .jsonValue(Meta.page(request, newest, { $0.id }) { view.message($0, in: messageThread) })
        case (.GET, "comments"):
            guard let id = view.mediaID(first) else { return nil }
            return .jsonValue(Meta.page(request, community.replies(to: id), { $0.id }) { comment($0, view) })
        case (.GET, "content_publishing_limit") where isOwn:
            let config: JSONValue = ["quota_total": 100, "quota_duration": 86_400]
            return .jsonValue(["data": [["quota_usage": 0, "config": config]]])
        case (.POST, "media_publish") where isOwn: return try publish(request, view)
        case (.POST, "messages") where isOwn: return try sendMessage(request, view)
        case (_, "subscribed_apps") where isOwn:
            return try hooks.apps(request, of: InstagramView.id(of: own), app: clientID)
        case (.POST, "likes"):
            throw Meta.error(3, "(#3) Application does not have the capability to make this API call.")
        default: return nil
        }
    }

    private func comment(_ post: Post, _ view: InstagramView) -> JSONValue {
        [
            "id": .string(String(post.id)), "text": .string(post.text), "timestamp": .string(Meta.time(post.createdAt)),
            "username": .text(community.person(post.author)?.name),
        ]
    }

    private func messageThread(_ id: String, _ view: InstagramView) -> MessageThread? {
        guard id.hasPrefix("aWdf") else { return nil }
        return Int64(id.dropFirst(4)).flatMap { community.messageThread($0, of: view.viewer.number) }
    }

    private func object(_ id: String, _ request: NetworkRequest, _ view: InstagramView) -> WebResponse? {
        if let messageThread = messageThread(id, view) { return .jsonValue(view.messageThread(messageThread)) }
        if let person = view.person(id) {
            return .jsonValue([
                "id": .string(InstagramView.id(of: person)), "user_id": .string(InstagramView.id(of: person)),
                "username": .string(person.name), "name": .string(person.displayName), "account_type": "BUSINESS",
                "profile_picture_url": .string("\(request.origin)/sandbox/media/500001"),
            ])
        }
        guard let number = view.mediaID(id) else { return nil }
        if let container = containers.find(number, of: view.viewer.number) {
            let isOver = clock.now.timeIntervalSince(container.at) > 86_400
            let status = JSONValue.string(isOver ? "EXPIRED" : container.status)
            return .jsonValue(["id": .string(id), "status_code": status, "status": status])
        }
        return community.post(number).map { .jsonValue(view.media($0)) }
    }

    // MARK: Posting

    /// Handles `POST /{user}/media`, and fetches the file from the given address, as Meta does.
    func makeContainer(_ request: NetworkRequest, _ view: InstagramView) throws -> ResponseAction {
        guard let url = request["image_url"] ?? request["video_url"], url.hasPrefix("http") else {
            throw Meta.error(100, "(#100) The parameter image_url is required", subcode: 2_207_052)
        }
        let caption = request["caption"] ?? ""
        guard caption.count <= 2_200 else { throw Meta.error(100, "The caption is too long", subcode: 2_207_010) }
        var draft = Community.Draft(text: caption)
        if let location = request["location_id"] { draft.location = Location(id: location, name: "Lake Merced") }
        let isVideo = request["video_url"] != nil
        let owner = view.viewer.number
        let id = containers.add(InstagramContainer(owner: owner, draft: draft, at: clock.now))
        let alternative = request["alt_text"]
        Task { [containers, media, calls, clock] in
            let file = await calls.fetch(url)
            // The type and the bytes must agree: Instagram decodes the file.
            let isValidFile =
                file.map { file in
                    let bytes = file.bytes.readableBytesView
                    return isVideo
                        ? file.type.hasPrefix("video/") && bytes.dropFirst(4).starts(with: "ftyp".utf8)
                        : file.type == "image/jpeg" && bytes.starts(with: [0xFF, 0xD8, 0xFF])
                } ?? false
            containers.change(id) { container in
                guard let file, isValidFile else { return container.status = "ERROR" }
                let saved = media.save(file.bytes, type: file.type, description: alternative, by: owner, at: clock.now)
                container.attachment = saved.attachment
                container.status = "FINISHED"
            }
        }
        return .response(.jsonValue(["id": .string(String(id))]))
    }

    private func publish(_ request: NetworkRequest, _ view: InstagramView) throws -> WebResponse {
        guard let id = request.whole("creation_id"), let container = containers.find(id, of: view.viewer.number) else {
            throw Meta.error(24, "The requested resource does not exist", subcode: 2_207_006)
        }
        guard container.status == "FINISHED", let attachment = container.attachment else {
            throw Meta.error(
                9_007,
                "The media is not ready for publishing, please wait for a moment",
                subcode: 2_207_027
            )
        }
        var draft = container.draft
        draft.media = [attachment]
        let post = community.publish(draft, by: view.viewer.number)
        containers.change(id) { $0.status = "PUBLISHED" }
        return .jsonValue(["id": .string(String(post.id))])
    }

    private func sendMessage(_ request: NetworkRequest, _ view: InstagramView) throws -> WebResponse {
        let own = view.viewer.number
        guard let recipient = request.json?["recipient"]?["id"]?.plain, let other = view.person(recipient),
            let text = request.json?["message"]?["text"]?.text
        else { throw Meta.error(100, "(#100) The parameter recipient is required") }
        let messageThread = community.messageThreads(of: own).first { Set($0.members) == [other.number, own] }
        let last = messageThread?.messages.last { $0.sender == other.number }
        guard let messageThread, let last, clock.now.timeIntervalSince(last.createdAt) <= 7 * 86_400,
            let (_, message) = community.sendMessage(text, by: own, in: messageThread.id)
        else {
            throw Meta.error(
                10,
                "(#10) This message is sent outside of allowed window.",
                .forbidden,
                subcode: 2_534_022
            )
        }
        return .jsonValue(["recipient_id": .string(recipient), "message_id": .string(InstagramView.id(of: message))])
    }

    // MARK: OAuth

    func authorization(_ request: NetworkRequest) throws -> WebResponse? {
        switch request.path.joined(separator: "/") {
        case "oauth/authorize":
            guard request["client_id"] == clientID, request["response_type"] == "code",
                let redirect = request["redirect_uri"], redirect.contains("://")
            else { return .html("<h1>Invalid request</h1>", status: .badRequest) }
            let scopes = Set((request["scope"] ?? "").split { $0 == " " || $0 == "," }.map(String.init))
            return consent(request, app: clientID, redirect: redirect, scopes: scopes, now: clock.now)
        case "oauth/access_token":
            guard request["client_id"] == clientID, request["client_secret"] == clientSecret,
                let code = request["code"].flatMap({
                    grants.redeem($0, app: clientID, redirect: request["redirect_uri"], verifier: nil)
                }),
                let person = community.person(code.person)
            else {
                let text = "Invalid authorization code"
                return .jsonValue(
                    ["error_type": "OAuthException", "code": 400, "error_message": .string(text)],
                    .badRequest
                )
            }
            let view = InstagramView(community: community, request: request, viewer: person)
            // Tokens of v1 did not expire.
            guard !code.scopes.contains("basic") else {
                return .jsonValue(["access_token": .string(token(of: person, for: nil)), "user": view.v1User(person)])
            }
            return .jsonValue(
                issuedToken(person, for: 3_600).with([
                    "user_id": .string(InstagramView.id(of: person)), "permissions": ["instagram_business_basic"],
                    "user": view.v1User(person),
                ])
            )
        case "access_token":
            guard request["grant_type"] == "ig_exchange_token", request["client_secret"] == clientSecret else {
                throw Meta.error(100, "Invalid client_secret")
            }
            return .jsonValue(try longer(request))
        case "refresh_access_token":
            guard request["grant_type"] == "ig_refresh_token" else { throw Meta.error(100, "Invalid grant_type") }
            return .jsonValue(try longer(request))
        default: return nil
        }
    }

    private func longer(_ request: NetworkRequest) throws -> JSONValue {
        guard let token = request["access_token"] ?? request.bearer, let found = try? caller(token: token) else {
            throw Meta.expired
        }
        return issuedToken(found.person, for: 5_184_000)
    }

    private func issuedToken(_ person: Person, for lifetime: TimeInterval) -> JSONValue {
        let token = token(of: person, for: lifetime)
        return ["access_token": .string(token), "token_type": "bearer", "expires_in": .int(Int(lifetime))]
    }

    /// Creates a token that is valid for `lifetime` seconds, or without limit when `lifetime` is nil.
    private func token(of person: Person, for lifetime: TimeInterval?) -> String {
        let token = newToken(person)
        let expiry = lifetime.map { clock.now + $0 }
        grants.put(token, Grants.Grant(person: person.number, app: clientID, scopes: [], expiry: expiry))
        return token
    }
}
