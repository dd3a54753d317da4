import Foundation
import NIOCore
import NIOHTTP1
import Wire

extension Facebook {
    func write(
        _ path: [String],
        _ request: NetworkRequest,
        _ view: FacebookView,
        _ caller: Caller
    ) throws -> WebResponse? {
        guard let first = path.first else { return nil }
        let own = view.viewer.number
        if path.count == 1 {
            if request.method == .DELETE, let post = view.post(first) {
                guard community.delete(post.id, by: own) != nil else {
                    throw Meta.error(200, "(#200) Permissions error", .forbidden)
                }
                return .jsonValue(["success": true])
            }
            if first.hasPrefix("notif_") {
                community.markNoticesRead(of: own, upTo: clock.now)
                return .jsonValue(["success": true])
            }
            return nil
        }
        let isOwn = view.person(first)?.number == own
        switch (request.method, path[1]) {
        case (.DELETE, "permissions"):
            grants.revoke(caller.token)
            return .jsonValue(["success": true])
        case (.POST, "feed") where isOwn: return try post(request, view)
        case (.POST, "photos") where isOwn: return try photo(request, view)
        case (.POST, "videos") where isOwn: return try video(request, view)
        case (.POST, "likes"), (.DELETE, "likes"):
            guard let post = view.post(first) else { return nil }
            _ = community.like(post.id, by: own, request.method == .POST)
            return .jsonValue(["success": true])
        case (.POST, "comments"):
            guard let parent = view.post(first), let text = request["message"] else { return nil }
            let post = community.publish(Community.Draft(text: text, parent: parent.id), by: own)
            return .jsonValue(["id": .string("\(parent.id)_\(post.id)")])
        case (.POST, "messages"): return try sendMessage(first, request, view, isOwn: isOwn)
        default: return nil
        }
    }

    private func published(
        _ draft: Community.Draft,
        _ view: FacebookView,
        with media: Int64? = nil
    ) throws -> WebResponse {
        guard draft.text.count <= 63_206 else { throw Meta.error(100, "(#100) Message too long") }
        let newest = community.posts(PostRange(limit: 5)) { $0.author == view.viewer.number }.posts
        let isRepeated = newest.contains {
            $0.text == draft.text && !$0.text.isEmpty && draft.media.isEmpty
                && clock.now.timeIntervalSince($0.createdAt) < 600
        }
        guard !isRepeated else { throw Meta.error(506, "(#506) Duplicate status message") }
        let post = community.publish(draft, by: view.viewer.number)
        let id = JSONValue.string("\(view.id(of: view.viewer))_\(post.id)")
        return .jsonValue(media.map { ["id": .string(String($0)), "post_id": id] } ?? ["id": id])
    }

    private func post(_ request: NetworkRequest, _ view: FacebookView) throws -> WebResponse {
        var draft = Community.Draft(text: request["message"] ?? request["link"] ?? "")
        if let location = request["place"] { draft.location = Location(id: location, name: "Lake Merced") }
        let attached = (request.query + request.form).filter { $0.name.hasPrefix("attached_media") }.map(\.value)
        let listed = request.json?["attached_media"]?.values.map(\.line) ?? []
        for text in attached + listed {
            let id = text.firstMatch(of: /"media_fbid"\s*:\s*"?(\d+)/).flatMap { Int64($0.1) }
            guard let upload = id.flatMap({ media.upload($0, of: view.viewer.number) }) else {
                throw Meta.error(100, "(#100) Invalid parameter: attached_media")
            }
            draft.media.append(upload.attachment)
        }
        guard !draft.text.isEmpty || !draft.media.isEmpty else {
            throw Meta.error(100, "(#100) Missing message or attachment")
        }
        return try published(draft, view)
    }

    private func photo(_ request: NetworkRequest, _ view: FacebookView) throws -> WebResponse {
        guard let file = request.files.first, file.type.hasPrefix("image/") || file.type == "application/octet-stream"
        else {
            throw Meta.error(324, "(#324) Missing or invalid image file")
        }
        guard file.bytes.readableBytes <= 10_485_760 else {
            throw Meta.error(100, "Photo too large", subcode: 1_366_046)
        }
        let saved = media.save(
            file.bytes,
            type: file.type,
            description: request["alt_text_custom"],
            by: view.viewer.number,
            at: clock.now
        )
        guard request["published"] != "false" else { return .jsonValue(["id": .string(String(saved.attachment.id))]) }
        var draft = Community.Draft(text: request["caption"] ?? request["message"] ?? "", media: [saved.attachment])
        if let location = request["place"] { draft.location = Location(id: location, name: "Lake Merced") }
        return try published(draft, view, with: saved.attachment.id)
    }

    private func video(_ request: NetworkRequest, _ view: FacebookView) throws -> WebResponse {
        guard let file = request.files.first, file.bytes.readableBytes > 0 else {
            throw Meta.error(389, "(#389) Unable to fetch video file")
        }
        let saved = media.save(file.bytes, type: "video/mp4", by: view.viewer.number, at: clock.now)
        _ = try published(Community.Draft(text: request["description"] ?? "", media: [saved.attachment]), view)
        return .jsonValue(["id": .string(String(saved.attachment.id))])
    }

    private func sendMessage(
        _ id: String,
        _ request: NetworkRequest,
        _ view: FacebookView,
        isOwn: Bool
    ) throws -> WebResponse? {
        guard isOwn else {
            guard let messageThread = messageThread(id, view), let text = request["message"],
                let (_, message) = community.sendMessage(text, by: view.viewer.number, in: messageThread.id)
            else { return nil }
            // A person's messages are comments of a thread and have comment ids.
            return .jsonValue(["id": .string(caller(isPage: request) ? "m_\(message.id)" : "\(message.id)")])
        }
        let recipient = field("recipient", of: request)?["id"]?.plain
        guard let recipient, let other = view.person(recipient), let text = field("message", of: request)?["text"]?.text
        else {
            throw Meta.error(100, "(#100) The parameter recipient is required")
        }
        let messageThread = community.messageThreads(of: view.viewer.number).first {
            Set($0.members) == [other.number, view.viewer.number]
        }
        let last = messageThread?.messages.last { $0.sender == other.number }
        guard let messageThread, let last, clock.now.timeIntervalSince(last.createdAt) <= 7 * 86_400 else {
            let text = "(#10) This message is sent outside of allowed window."
            throw Meta.error(10, text, .forbidden, subcode: 2_018_278)
        }
        guard let (_, message) = community.sendMessage(text, by: view.viewer.number, in: messageThread.id) else {
            return nil
        }
        return .jsonValue(["recipient_id": .string(recipient), "message_id": .string("m_\(message.id)")])
    }

    private func field(_ name: String, of request: NetworkRequest) -> JSONValue? {
        // A form field that is not JSON counts as missing.
        request.json?[name] ?? request[name].flatMap { try? JSONParser.parse($0.utf8) }
    }
}
