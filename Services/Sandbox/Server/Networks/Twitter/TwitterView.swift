import Foundation
import Wire

/// The JSON of people, tweets and messages in the formats of API 1.1 and v2.
struct TwitterView {
    let community: Community
    let origin: String
    let viewer: Person

    // MARK: 1.1

    func user(_ person: Person) -> JSONValue {
        [
            "id": .integer(person.id), "id_str": .string(String(person.id)), "name": .string(person.displayName),
            "screen_name": .string(person.name), "protected": false, "verified": false, "followers_count": 7,
            "friends_count": .int(person.follows.count), "statuses_count": 30, "description": "", "location": "",
            "created_at": "Sat Jan 01 00:00:00 +0000 2011", "lang": .null, "url": .null, "default_profile": true,
            "profile_image_url_https": .string("\(origin)/sandbox/media/500001"),
        ]
    }

    private func user(_ number: Int) -> JSONValue { user(community.person(number) ?? .anonymous) }

    /// Returns a time in the format of `Sat Jul 13 02:27:22 +0000 2019`.
    static func time(_ date: Date) -> String {
        let style = Date.VerbatimFormatStyle(
            format: """
                \(weekday: .abbreviated) \(month: .abbreviated) \(day: .twoDigits) \
                \(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\(minute: .twoDigits):\
                \(second: .twoDigits) +0000 \(year: .defaultDigits)
                """,
            locale: Locale(identifier: "en_US_POSIX"),
            timeZone: .gmt,
            calendar: Calendar(identifier: .gregorian)
        )
        return date.formatted(style)
    }

    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }

    func tweet(_ post: Post, isExtended: Bool) -> JSONValue {
        let original = post.original.flatMap { community.post($0) }
        let text = original.map { "RT @\(community.person($0.author)?.name ?? ""): \($0.text)" } ?? post.text
        let parent = post.parent.flatMap { community.post($0) }
        let shown = Self.escaped(text) + (post.media.isEmpty ? "" : " https://t.co/\(post.id)")
        var tweet: JSONValue = [
            "created_at": .string(Self.time(post.createdAt)), "id": .integer(post.id),
            "id_str": .string(String(post.id)), "truncated": false, "user": user(post.author),
            "source": "<a href=\"https://sandbox\">sandbox</a>", "lang": "en", "is_quote_status": false,
            "in_reply_to_status_id": parent.map { .integer($0.id) } ?? .null,
            "in_reply_to_status_id_str": .text(parent.map { String($0.id) }),
            "in_reply_to_user_id_str": .text(parent.flatMap { community.person($0.author) }.map { String($0.id) }),
            "in_reply_to_screen_name": .text(parent.flatMap { community.person($0.author)?.name }),
        ]
        tweet = tweet.with([
            "retweet_count": .int(post.boosts.count), "favorite_count": .int(post.likes.count),
            "favorited": .bool(post.likes.contains(viewer.number)),
            "retweeted": .bool(post.boosts.contains(viewer.number)), "geo": .null, "contributors": .null,
            "coordinates": coordinates(post), "place": location(post), "entities": entities(post, shown, text),
        ])
        tweet = tweet.with(
            isExtended
                ? [
                    "full_text": .string(shown),
                    "display_text_range": [0, .int(Self.escaped(text).unicodeScalars.count)],
                ]
                : ["text": .string(shown)]
        )
        if !post.media.isEmpty { tweet = tweet.with(["extended_entities": ["media": media(post, shown)]]) }
        if let original { tweet = tweet.with(["retweeted_status": self.tweet(original, isExtended: isExtended)]) }
        return tweet
    }

    private func coordinates(_ post: Post) -> JSONValue {
        guard let location = post.location, let latitude = location.latitude, let longitude = location.longitude else {
            return .null
        }
        return ["type": "Point", "coordinates": [.number(longitude), .number(latitude)]]
    }

    private func location(_ post: Post) -> JSONValue {
        guard let location = post.location else { return .null }
        return [
            "id": .string(location.id ?? "5a110d312052166f"), "full_name": .string(location.name ?? ""),
            "name": .string(location.name ?? ""), "place_type": "city", "country": "United States",
        ]
    }

    private func media(_ post: Post, _ shown: String) -> JSONValue {
        let count = shown.unicodeScalars.count
        let start = shown.range(of: "https://t.co/").map { shown[..<$0.lowerBound].unicodeScalars.count } ?? count
        return .list(
            post.media.map { attachment in
                let url = "\(origin)/sandbox/media/\(attachment.id)"
                let size: JSONValue = ["w": .int(attachment.width), "h": .int(attachment.height), "resize": "fit"]
                let shown: JSONValue = [
                    "id_str": .string(String(attachment.id)), "media_url_https": .string(url),
                    "media_url": .string(url),
                    "url": .string("https://t.co/\(post.id)"), "display_url": "pic.twitter.com/x",
                    "expanded_url": .string("https://twitter.com/x/status/\(post.id)/photo/1"),
                    "type": attachment.kind == .photo ? "photo" : "video", "indices": [.int(start), .int(count)],
                    "sizes": ["large": size], "ext_alt_text": .text(attachment.description),
                ]
                guard attachment.kind == .video else { return shown }
                let variant: JSONValue = ["bitrate": 832_000, "content_type": "video/mp4", "url": .string(url)]
                return shown.with(["video_info": ["aspect_ratio": [1, 1], "variants": [variant]]])
            }
        )
    }

    private func entities(_ post: Post, _ shown: String, _ text: String) -> JSONValue {
        let mentions = Community.mentions(in: text).compactMap { community.person(named: $0) }.map {
            person -> JSONValue in
            let start = shown.range(of: "@\(person.name)").map { shown[..<$0.lowerBound].unicodeScalars.count } ?? 0
            return [
                "screen_name": .string(person.name), "name": .string(person.displayName),
                "id_str": .string(String(person.id)),
                "indices": [.int(start), .int(start + person.name.count + 1)],
            ]
        }
        let entities: JSONValue = ["hashtags": [], "symbols": [], "urls": [], "user_mentions": .array(mentions)]
        return post.media.isEmpty ? entities : entities.with(["media": media(post, shown)])
    }

    /// Returns a message as an event, the format since 2018.
    func event(_ message: Message, in messageThread: MessageThread) -> JSONValue {
        let other = messageThread.members.first { $0 != message.sender } ?? message.sender
        let id = { (number: Int) in JSONValue.string(String(community.person(number)?.id ?? 0)) }
        let data: JSONValue = [
            "text": .string(Self.escaped(message.text)),
            "entities": ["hashtags": [], "symbols": [], "urls": [], "user_mentions": []],
        ]
        let created: JSONValue = [
            "target": ["recipient_id": id(other)], "sender_id": id(message.sender), "message_data": data,
        ]
        return [
            "type": "message_create", "id": .string(String(message.id)),
            "created_timestamp": .string(String(Int(message.createdAt.timeIntervalSince1970 * 1_000))),
            "message_create": created,
        ]
    }

    /// Returns a message in the format of 2015.
    func message(_ message: Message, in messageThread: MessageThread) -> JSONValue {
        let other = messageThread.members.first { $0 != message.sender } ?? message.sender
        let (sender, recipient) = (
            community.person(message.sender) ?? .anonymous, community.person(other) ?? .anonymous
        )
        return [
            "id_str": .string(String(message.id)), "id": .integer(message.id),
            "text": .string(Self.escaped(message.text)), "created_at": .string(Self.time(message.createdAt)),
            "sender_id_str": .string(String(sender.id)), "sender_screen_name": .string(sender.name),
            "sender": user(sender), "recipient_id_str": .string(String(recipient.id)),
            "recipient_screen_name": .string(recipient.name), "recipient": user(recipient), "entities": [:],
        ]
    }

    // MARK: v2

    func userV2(_ person: Person) -> JSONValue {
        [
            "id": .string(String(person.id)), "name": .string(person.displayName), "username": .string(person.name),
            "profile_image_url": .string("\(origin)/sandbox/media/500001"), "verified": false,
        ]
    }

    func tweetV2(_ post: Post) -> JSONValue {
        let original = post.original.flatMap { community.post($0) }
        let text = original.map { "RT @\(community.person($0.author)?.name ?? ""): \($0.text)" } ?? post.text
        let id = String(post.id)
        var tweet: JSONValue = [
            "id": .string(id), "text": .string(Self.escaped(text)), "edit_history_tweet_ids": [.string(id)],
            "author_id": .string(String(community.person(post.author)?.id ?? 0)), "conversation_id": .string(id),
            "created_at": .string(Timestamp.string(from: post.createdAt)), "lang": "en",
            "public_metrics": [
                "retweet_count": .int(post.boosts.count), "reply_count": .int(post.replies),
                "like_count": .int(post.likes.count), "quote_count": 0,
            ],
        ]
        var references: [JSONValue] = []
        if let original = post.original { references.append(["type": "retweeted", "id": .string(String(original))]) }
        if let parent = post.parent { references.append(["type": "replied_to", "id": .string(String(parent))]) }
        if !references.isEmpty { tweet = tweet.with(["referenced_tweets": .array(references)]) }
        if let location = post.location { tweet = tweet.with(["geo": ["place_id": .string(location.id ?? "p")]]) }
        guard !post.media.isEmpty else { return tweet }
        return tweet.with(["attachments": ["media_keys": .list(post.media.map { .string(Self.key($0)) })]])
    }

    static func key(_ attachment: Attachment) -> String { "\(attachment.kind == .photo ? 3 : 13)_\(attachment.id)" }

    /// Returns the objects that posts reference, limited to the requested expansions.
    func includes(_ posts: [Post], _ expansions: Set<String>) -> JSONValue? {
        let referenced = posts.flatMap { [$0.original, $0.parent] }.compactMap(\.self).compactMap { community.post($0) }
        var includes: [String: JSONValue] = [:]
        if expansions.contains("author_id") || expansions.contains("referenced_tweets.id.author_id") {
            let numbers = Set((posts + referenced).map(\.author)).sorted()
            includes["users"] = .list(numbers.compactMap { community.person($0) }.map(userV2))
        }
        if expansions.contains("referenced_tweets.id"), !referenced.isEmpty {
            includes["tweets"] = .list(referenced.map(tweetV2))
        }
        let media = (posts + referenced).flatMap(\.media)
        if expansions.contains("attachments.media_keys"), !media.isEmpty {
            includes["media"] = .list(
                media.map { attachment in
                    let url = JSONValue.string("\(origin)/sandbox/media/\(attachment.id)")
                    let shown: JSONValue = [
                        "media_key": .string(Self.key(attachment)), "width": .int(attachment.width),
                        "height": .int(attachment.height), "alt_text": .text(attachment.description),
                    ]
                    guard attachment.kind == .video else { return shown.with(["type": "photo", "url": url]) }
                    let variant: JSONValue = ["bit_rate": 832_000, "content_type": "video/mp4", "url": url]
                    return shown.with(["type": "video", "preview_image_url": url, "variants": [variant]])
                }
            )
        }
        return includes.isEmpty ? nil : .object(includes)
    }

    static func conversation(_ messageThread: MessageThread, _ community: Community) -> String {
        let ids = messageThread.members.compactMap { community.person($0)?.id }.sorted()
        return ids.count == 2 ? "\(ids[0])-\(ids[1])" : String(messageThread.id)
    }

    func eventV2(_ message: Message, in messageThread: MessageThread) -> JSONValue {
        [
            "event_type": "MessageCreate", "id": .string(String(message.id)), "text": .string(message.text),
            "sender_id": .string(String(community.person(message.sender)?.id ?? 0)),
            "dm_conversation_id": .string(Self.conversation(messageThread, community)),
            "created_at": .string(Timestamp.string(from: message.createdAt)),
        ]
    }
}
