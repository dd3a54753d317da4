import Foundation
import Wire

/// The JSON of people, posts and conversations as Vine shows them to one viewer.
struct VineView {
    let community: Community
    let origin: String
    let viewer: Person

    static func id(of person: Person) -> Int64 { 1_169_361_810_303_000_000 + person.id }

    func person(_ id: String) -> Person? {
        if id == "me" { return viewer }
        return Int64(id).flatMap { id in community.people.first { Self.id(of: $0) == id } }
    }

    /// Returns a UTC time with microseconds and without a time zone.
    static func time(_ date: Date) -> String {
        Timestamp.string(from: date).replacing("Z", with: "000")
    }

    private func common(_ number: Int) -> JSONValue {
        let person = community.person(number) ?? .anonymous
        return [
            "userId": .integer(Self.id(of: person)), "username": .string(person.displayName),
            "avatarUrl": .string("\(origin)/sandbox/media/500001"), "verified": 0, "vanityUrls": [],
        ]
    }

    func user(_ person: Person) -> JSONValue {
        common(person.number).with(["followerCount": 7, "followingCount": .int(person.follows.count), "private": 0])
    }

    private func count(_ people: Set<Int>, _ post: Post, key: String) -> JSONValue {
        let records = people.sorted().enumerated().map { index, number in
            common(number).with([
                key: .integer(post.id + Int64(index) + 1), "created": .string(Self.time(post.createdAt)),
            ])
        }
        return [
            "count": .int(people.count), "records": .array(records), "nextPage": .null, "previousPage": .null,
            "size": 10,
        ]
    }

    func post(_ reposted: Post) -> JSONValue {
        let post = reposted.original.flatMap { community.post($0) } ?? reposted
        let url = "\(origin)/sandbox/media/\(post.media.first?.id ?? 700_001)"
        let shown: JSONValue = [
            "postId": .integer(reposted.id), "description": .string(post.text),
            "created": .string(Self.time(reposted.createdAt)), "videoUrl": .string(url), "videoLowURL": .string(url),
            "thumbnailUrl": .string("\(origin)/sandbox/media/500001"),
            "permalinkUrl": .string("https://vine.co/v/O\(post.id)"),
            "shareUrl": .string("https://vine.co/v/O\(post.id)"),
            "foursquareVenueId": .text(post.location?.id), "venueName": .text(post.location?.name), "private": 0,
            "promoted": 0, "explicitContent": 0, "blocked": 0, "following": 1, "followRequested": 0,
            "tags": [], "entities": [], "loops": ["count": .number(1_609.5), "velocity": .number(0.5), "onFire": 0],
        ]
        return common(post.author).with([:]).merging(shown).with([
            "liked": post.likes.contains(viewer.number) ? 1 : 0, "myRepostId": 0,
            "likes": count(post.likes, post, key: "likeId"), "reposts": count(post.boosts, post, key: "repostId"),
            "comments": [
                "count": .int(post.replies), "records": [], "nextPage": .null, "previousPage": .null, "size": 10,
            ],
        ])
    }

    func notice(_ notice: Notice) -> JSONValue {
        let name = community.person(notice.actor)?.displayName ?? ""
        let verb = ["like": "liked your post", "boost": "revined your post", "follow": "followed you"]
        return common(notice.actor).with([
            "notificationId": .integer(notice.id), "notificationTypeId": notice.kind == .follow ? 2 : 1,
            "body": .string("\(name) \(verb[notice.kind.rawValue] ?? "commented on your post")"),
            "created": .string(Self.time(notice.createdAt)), "postId": notice.post.map { .integer($0) } ?? .null,
            "thumbnailUrl": .string("\(origin)/sandbox/media/500001"),
        ])
    }

    func messageThread(_ messageThread: MessageThread) -> JSONValue {
        let messages = messageThread.messages.suffix(20).reversed().map { message -> JSONValue in
            [
                "messageId": .integer(message.id), "message": .string(message.text),
                "userId": .integer(Self.id(of: community.person(message.sender) ?? .anonymous)),
                "created": .string(Self.time(message.createdAt)),
            ]
        }
        return [
            "conversationId": .integer(messageThread.id), "users": .list(messageThread.members.map { common($0) }),
            "messages": .array(messages), "unreadMessageCount": .int(messageThread.unread(by: viewer.number)),
            "lastMessage": .string(Self.time(messageThread.messages.last?.createdAt ?? .distantPast)),
        ]
    }
}

extension JSONValue {
    fileprivate func merging(_ other: JSONValue) -> JSONValue {
        guard case .object(let fields) = other else { return self }
        return with(fields)
    }
}
