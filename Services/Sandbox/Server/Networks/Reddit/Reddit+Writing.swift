import Foundation
import NIOHTTP1
import Wire

/// Posting, replying and voting by forms. Form errors have the status 200.
extension Reddit {
    func write(_ path: String, _ request: NetworkRequest, by caller: Caller) throws -> WebResponse? {
        let view = RedditView(community: community, request: request, viewer: caller.person)
        switch path {
        case "api/submit": return submit(request, by: caller)
        case "api/comment": return comment(request, view)
        case "api/compose":
            guard let other = request["to"].flatMap({ community.person(named: $0) }) else {
                return formErrors([("USER_DOESNT_EXIST", "that user doesn't exist", "to")])
            }
            guard let text = request["text"], request["subject"] != nil else {
                return formErrors([("NO_TEXT", "we need something here", "text")])
            }
            _ = community.sendMessage(text, by: caller.person.number, to: [other.number])
            return .jsonValue(["json": ["errors": []]])
        case "api/vote": return vote(request, by: caller)
        case "api/del":
            request["id"].flatMap { RedditView.id($0) }.map { _ = community.delete($0, by: caller.person.number) }
            return .jsonValue([:])
        case "api/read_message":
            let ids = (request["id"] ?? "").split(separator: ",").compactMap { RedditView.id($0) }
            for messageThread in community.messageThreads(of: caller.person.number) {
                for id in ids where messageThread.messages.contains(where: { $0.id == id }) {
                    community.markRead(messageThread.id, by: caller.person.number, upTo: id)
                }
            }
            return .jsonValue([:])
        case "api/read_all_messages":
            community.markNoticesRead(of: caller.person.number, upTo: clock.now)
            for messageThread in community.messageThreads(of: caller.person.number) {
                community.markRead(messageThread.id, by: caller.person.number)
            }
            return WebResponse(.accepted)
        case "api/media/asset.json": return lease(request, by: caller)
        default: return nil
        }
    }

    private func formErrors(_ formErrors: [(code: String, text: String, field: String)]) -> WebResponse {
        let errors = formErrors.map { JSONValue.array([.string($0.code), .string($0.text), .string($0.field)]) }
        return .jsonValue(["json": ["errors": .array(errors)]])
    }

    private func submit(_ request: NetworkRequest, by caller: Caller) -> WebResponse {
        guard request["api_type"] == "json" else {
            return .jsonValue(["message": "Bad Request", "error": 400], .badRequest)
        }
        guard let room = request["sr"] else {
            return formErrors([("SUBREDDIT_REQUIRED", "you must specify a subreddit", "sr")])
        }
        guard Self.rooms.contains(room) || Broadcasts.communities.contains(room) || room == "u_\(caller.person.name)"
        else { return formErrors([("SUBREDDIT_NOEXIST", "that subreddit doesn't exist", "sr")]) }
        guard let title = request["title"] else { return formErrors([("NO_TEXT", "we need something here", "title")]) }
        guard title.count <= 300 else { return formErrors([("TOO_LONG", "this is too long (max: 300)", "title")]) }
        var draft = Community.Draft(title: title, text: request["text"] ?? "", room: room)
        switch request["kind"] {
        case "self": break
        case "link":
            guard let url = request["url"] else { return formErrors([("NO_URL", "a url is required", "url")]) }
            draft.text = url
        case "image", "video", "videogif":
            guard let id = request["url"]?.split(separator: "/").last.flatMap({ Int64($0) }),
                let upload = media.upload(id)
            else { return formErrors([("BAD_URL", "you should check that url", "url")]) }
            draft.media = [upload.attachment]
        default: return formErrors([("INVALID_OPTION", "that option is not valid", "kind")])
        }
        let post = community.publish(draft, by: caller.person.number)
        let id = RedditView.base36(post.id)
        let url = JSONValue.string("https://www.reddit.com/r/\(room)/comments/\(id)/x/")
        guard draft.media.isEmpty else {
            let socket = request.origin.replacing("http", with: "ws", maxReplacements: 1) + "/reddit/submitted/\(id)"
            let page = "https://www.reddit.com/user/\(caller.person.name)/submitted/"
            let data: JSONValue = ["user_submitted_page": .string(page), "websocket_url": .string(socket)]
            return .jsonValue(["json": ["errors": [], "data": data]])
        }
        let data: JSONValue = ["url": url, "id": .string(id), "name": .string("t3_\(id)"), "drafts_count": 0]
        return .jsonValue(["json": ["errors": [], "data": data]])
    }

    private func comment(_ request: NetworkRequest, _ view: RedditView) -> WebResponse {
        guard let thing = request["thing_id"], let id = RedditView.id(thing) else {
            return formErrors([("BAD_THING", "that thing is not there", "thing_id")])
        }
        guard let text = request["text"] else { return formErrors([("NO_TEXT", "we need something here", "text")]) }
        guard text.count <= 10_000 else { return formErrors([("TOO_LONG", "this is too long (max: 10000)", "text")]) }
        let shown: JSONValue
        if thing.hasPrefix("t4_") {
            let messageThread = community.messageThreads(of: view.viewer.number).first { messageThread in
                messageThread.messages.contains { $0.id == id }
            }
            guard let messageThread,
                let (now, sent) = community.sendMessage(text, by: view.viewer.number, in: messageThread.id)
            else {
                return formErrors([("DELETED_COMMENT", "that message has been deleted", "parent")])
            }
            shown = view.message(sent, in: now)
        } else {
            guard let parent = community.post(id) else {
                return formErrors([("DELETED_COMMENT", "that comment has been deleted", "parent")])
            }
            let draft = Community.Draft(text: text, parent: id, room: parent.room)
            shown = view.comment(community.publish(draft, by: view.viewer.number))
        }
        return .jsonValue(["json": ["errors": [], "data": ["things": [shown]]]])
    }

    private func vote(_ request: NetworkRequest, by caller: Caller) -> WebResponse {
        guard let id = request["id"].flatMap({ RedditView.id($0) }),
            let direction = request["dir"].flatMap({ Int($0) }),
            -1...1 ~= direction
        else { return .jsonValue(["message": "Bad Request", "error": 400], .badRequest) }
        guard community.like(id, by: caller.person.number, direction == 1) != nil else {
            return .jsonValue(["message": "Not Found", "error": 404], .notFound)
        }
        if direction == -1 { _ = community.update(id) { $0.dislikes.insert(caller.person.number) } }
        return .jsonValue([:])
    }

    // MARK: Media

    /// Returns the address and the form fields for an upload, which Reddit sends to S3.
    private func lease(_ request: NetworkRequest, by caller: Caller) -> WebResponse {
        guard let type = request["mimetype"], request["filepath"] != nil else {
            return .jsonValue(["message": "Bad Request", "error": 400], .badRequest)
        }
        let policy = Base64URL.random(bytes: 18)
        grants.put(policy, Grants.Grant(person: caller.person.number, app: type, scopes: [], expiry: clock.now + 600))
        let fields: [JSONValue] = [
            ["name": "key", "value": .string("rte_images/\(policy)")],
            ["name": "Content-Type", "value": .string(type)],
            ["name": "x-amz-security-token", "value": .string(policy)],
        ]
        let action = request.origin.replacing(/^https?:/, with: "") + "/reddit/upload"
        return .jsonValue([
            "args": ["action": .string(action), "fields": .array(fields)],
            "asset": ["asset_id": .string(policy), "processing_state": "incomplete", "payload": [:]],
        ])
    }

    func store(_ request: NetworkRequest) -> WebResponse {
        guard let policy = request["x-amz-security-token"], case .valid(let grant) = grants.find(policy),
            let file = request.files.first(where: { $0.name == "file" }), let owner = grant.person
        else { return .text("<Error><Code>AccessDenied</Code></Error>", status: .forbidden, type: "application/xml") }
        grants.revoke(policy)
        let upload = media.save(file.bytes, type: grant.app, by: owner, at: clock.now)
        let url = "\(request.origin)/sandbox/media/\(upload.attachment.id)"
        return .text(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?><PostResponse><Location>\(url)</Location></PostResponse>",
            status: .created,
            type: "application/xml"
        )
    }

    /// Sends one message over a WebSocket when the post of an image exists.
    func submitted(_ request: NetworkRequest) -> ResponseAction {
        guard let post = request.path.last.flatMap({ RedditView.id($0) }).flatMap({ community.post($0) }) else {
            return .response(errorResponse(.notFound, of: request))
        }
        let redirectURL = "https://www.reddit.com/r/\(post.room ?? "")/comments/\(RedditView.base36(post.id))/x/"
        let sent: JSONValue = ["type": "success", "payload": ["redirect": .string(redirectURL)]]
        return .socket(
            LiveSocket { send in
                send(sent.line)
                return LiveSocketEnd(receive: { _ in }, close: {})
            }
        )
    }
}
