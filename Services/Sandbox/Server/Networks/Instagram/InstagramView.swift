import Foundation
import Wire

/// The JSON of people, media and messages, in the formats of v1 and of the current API.
struct InstagramView {
    let community: Community
    let request: NetworkRequest
    let viewer: Person

    static func id(of person: Person) -> String { String(17_841_405_822_000_000 + person.id) }

    /// Returns the id of a private message, which is the same in the API and in webhooks (`mid`).
    static func id(of message: Message) -> String { "aWdf\(message.id)" }

    func person(_ id: String) -> Person? {
        if id == "me" || id == "self" { return viewer }
        return community.people.first { Self.id(of: $0) == id || String($0.id) == id }
    }

    /// Returns the number of a media id, such as `471425689728724453_404174490` or only its first half.
    func mediaID(_ id: String) -> Int64? { Int64(id.prefix { $0 != "_" }) }

    private func url(_ post: Post) -> String { "\(request.origin)/sandbox/media/\(post.media.first?.id ?? 500_001)" }

    // MARK: v1

    func v1User(_ person: Person) -> JSONValue {
        [
            "id": .string(Self.id(of: person)), "username": .string(person.name),
            "full_name": .string(person.displayName),
            "profile_picture": .string("\(request.origin)/sandbox/media/500001"),
        ]
    }

    func v1Media(_ post: Post) -> JSONValue {
        let author = community.person(post.author) ?? .anonymous
        let id = "\(post.id)_\(Self.id(of: author))"
        let time = JSONValue.string(String(Int(post.createdAt.timeIntervalSince1970)))
        let size = { (width: Int64) -> JSONValue in
            ["url": .string(url(post)), "width": .integer(width), "height": .integer(width)]
        }
        let images: JSONValue = ["thumbnail": size(150), "low_resolution": size(306), "standard_resolution": size(612)]
        let likes = post.likes.sorted().compactMap { community.person($0) }
        let isVideo = post.media.first?.kind == .video
        let caption: JSONValue = [
            "id": .string(String(post.id + 1)), "text": .string(post.text), "created_time": time,
            "from": v1User(author),
        ]
        let shown: JSONValue = [
            "id": .string(id), "type": isVideo ? "video" : "image", "created_time": time, "filter": "Normal",
            "link": .string("http://instagram.com/p/\(post.id)/"), "tags": [], "attribution": .null,
            "user_has_liked": .bool(post.likes.contains(viewer.number)), "user": v1User(author),
            "caption": post.text.isEmpty ? .null : caption, "images": images, "users_in_photo": [],
            "likes": ["count": .int(likes.count), "data": .list(likes.map(v1User))],
            "comments": ["count": .int(post.replies), "data": []],
            "videos": isVideo ? ["low_resolution": size(480), "standard_resolution": size(640)] : .null,
        ]
        guard let location = post.location else { return shown.with(["location": .null]) }
        return shown.with([
            "location": [
                "id": 520_640, "name": .text(location.name), "latitude": .number(location.latitude ?? 0.5),
                "longitude": .number(location.longitude ?? 0.5),
            ]
        ])
    }

    // MARK: Current API

    func media(_ post: Post) -> JSONValue {
        let author = community.person(post.author) ?? .anonymous
        let isVideo = post.media.first?.kind == .video
        return FacebookView(community: community, request: request, viewer: viewer).chosen([
            "id": .string(String(post.id)), "caption": .string(post.text), "media_type": isVideo ? "VIDEO" : "IMAGE",
            "media_product_type": isVideo ? "REELS" : "FEED", "media_url": .string(url(post)),
            "thumbnail_url": isVideo ? .string(url(post)) : .null, "username": .string(author.name),
            "permalink": .string("https://www.instagram.com/p/\(post.id)/"),
            "timestamp": .string(Meta.time(post.createdAt)), "like_count": .int(post.likes.count),
            "comments_count": .int(post.replies),
        ])
    }

    private func party(_ number: Int) -> JSONValue {
        let person = community.person(number) ?? .anonymous
        return ["id": .string(Self.id(of: person)), "username": .string(person.name)]
    }

    func message(_ message: Message, in messageThread: MessageThread) -> JSONValue {
        [
            "id": .string(Self.id(of: message)), "created_time": .string(Meta.time(message.createdAt)),
            "from": party(message.sender), "message": .string(message.text),
            "to": ["data": .list(messageThread.members.filter { $0 != message.sender }.map(party))],
        ]
    }

    func messageThread(_ messageThread: MessageThread) -> JSONValue {
        let newest = Array(messageThread.messages.suffix(20).reversed())
        return FacebookView(community: community, request: request, viewer: viewer).chosen([
            "id": .string("aWdf\(messageThread.id)"),
            "updated_time": .string(Meta.time(messageThread.messages.last?.createdAt ?? .distantPast)),
            "participants": ["data": .list(messageThread.members.map(party))],
            "messages": ["data": .list(newest.map { message($0, in: messageThread) })],
        ])
    }
}
