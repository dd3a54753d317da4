import Foundation
import HTTPTypes
import Multipart
import OAuth1
import SocialAPI
import Wire

extension FacebookConnector {
    private static let limits = PostLimits(
        text: 63_206,
        textUnit: .characters,
        photos: 10,
        photoBytes: 4_194_304,
        photoTypes: ["image/jpeg", "image/png", "image/gif", "image/webp"],
        videoBytes: 1_073_741_824,
        videoTypes: ["video/mp4", "video/quicktime"],
        reply: 2_000
    )

    func accountCapabilities(of account: NetworkAccount) -> AccountCapabilities {
        var accountCapabilities = AccountCapabilities(
            supported: [.feed, .messages, .text, .photo, .video, .location, .like, .reply],
            limits: Self.limits,
            reasons: [.favorite: "Facebook has likes instead of favourites"]
        )
        if isPersonal {
            accountCapabilities.supported.insert(.notifications)
        } else {
            accountCapabilities.reasons[.notifications] = "Facebook reports the events of pages only by webhook"
        }
        return accountCapabilities
    }

    private struct Prepared: Codable {
        var photos: [String]
        var place: String?
        /// The text to post, if it is not the text of the post alone.
        var message: String?
    }

    /// Uploads photos unpublished, and looks up the place: Facebook only has places that are pages.
    func prepare(_ post: NetworkPost, as account: NetworkAccount) async throws -> PreparedPost? {
        try check(post)
        var prepared = Prepared(photos: [], place: nil)
        if let location = post.location {
            let place = try await place(location, account)
            prepared.place = place.id
            prepared.message = Self.message(of: post, at: location.name ?? place.name)
        }
        for photo in post.photos {
            var form = MultipartForm()
            form.add("published", "false")
            if let alt = photo.alt, !alt.isEmpty { form.add("alt_text_custom", alt) }
            form.add("source", fileName: photo.fileName, contentType: photo.type, photo.bytes)
            let (json, _) = try await graph.write(
                .multipart(url("\(me(account))/photos", account), form),
                account.tokens.access,
                isWrite: false
            )
            guard let id = json["id"]?.identifier else {
                throw NetworkError(.transient, "Facebook returned no id for the photo")
            }
            prepared.photos.append(id)
        }
        return prepared.photos.isEmpty && prepared.place == nil ? nil : try NetworkCursor(prepared)
    }

    /// Returns the text with the place's name if the post cannot have the place in another way; otherwise nil.
    ///
    /// A post needs text or media, so a post with only a place has its name as text. A video cannot have a place.
    private static func message(of post: NetworkPost, at place: String?) -> String? {
        guard let place, !place.isEmpty, post.video != nil || post.text.isEmpty && post.photos.isEmpty else {
            return nil
        }
        return post.text.isEmpty ? place : "\(post.text)\n\(place)"
    }

    func publish(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost
    {
        try check(post)
        let prepared = try prepared?.read(as: Prepared.self)
        let message = prepared?.message ?? post.text
        if let video = post.video { return try await publishVideo(video, message, account) }
        var fields = [("message", message)].filter { !$0.1.isEmpty }
        if let place = prepared?.place { fields.append(("place", place)) }
        for (index, photo) in (prepared?.photos ?? []).enumerated() {
            fields.append(("attached_media[\(index)]", #"{"media_fbid":"\#(photo)"}"#))
        }
        let request = NetworkRequest.form(url("\(me(account))/feed", account), fields.map { FormField($0.0, $0.1) })
        let (json, budget) = try await graph.write(request, account.tokens.access)
        return posted(try json.createdID("id"), budget)
    }

    /// Uploads a video, which also publishes it; it becomes visible after some processing.
    private func publishVideo(
        _ video: OutgoingMedia,
        _ message: String,
        _ account: NetworkAccount
    ) async throws -> PublishedPost {
        var form = MultipartForm()
        if !message.isEmpty { form.add("description", message) }
        form.add("source", fileName: video.fileName, contentType: video.type, video.bytes)
        let host = key.endpoint("VIDEO_URL", where: Self.defaultURL, "https://graph-video.facebook.com")
        let address = url("\(me(account))/videos", account).replacing(key.baseURL, with: host, maxReplacements: 1)
        let (json, budget) = try await graph.write(.multipart(address, form), account.tokens.access)
        return posted(try json.createdID("id"), budget)
    }

    /// Searches the latest posts by text and time.
    func find(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost? {
        let query: KeyValuePairs = [
            "fields": Optional("id,message,description,created_time,permalink_url"), "limit": "25",
        ]
        let message = try prepared?.read(as: Prepared.self).message ?? post.text
        let edge = post.video == nil ? (isPersonal ? "feed" : "posts") : "videos"
        let (json, budget) = try await graph.read("\(me(account))/\(edge)", query, account.tokens.access)
        let found = json["data"].list.first { entry in
            (entry["message"]?.text ?? entry["description"]?.text ?? "") == message
                && (entry["created_time"]?.date).map { $0 >= post.createdAt.addingTimeInterval(-60) } == true
        }
        return try found.map { posted(try $0.createdID("id"), budget) }
    }

    /// Replies to a user who wrote in the last 24 hours; Facebook rejects later replies.
    func reply(_ reply: NetworkReply, as account: NetworkAccount) async throws -> PublishedPost {
        try Self.limits.check(reply)
        if isPersonal {
            let path = "\(reply.thread.pathSegment)/messages"
            let (json, budget) = try await graph.write(path, ["message": reply.text], account.tokens.access)
            return PublishedPost(id: try json.createdID("id"), budget: budget)
        }
        let body: JSONValue = .object([
            "recipient": .object(["id": .string(try await other(in: reply.thread, account))]),
            "messaging_type": .string("RESPONSE"), "message": .object(["text": .string(reply.text)]),
        ])
        let request = try NetworkRequest.json(url("\(me(account))/messages", account), body)
        let (json, budget) = try await graph.write(request, account.tokens.access)
        return PublishedPost(id: try json.createdID("message_id"), budget: budget)
    }

    func find(_ reply: NetworkReply, as account: NetworkAccount) async throws -> PublishedPost? {
        let page = try await messages(of: reply.thread, PageRequest(), as: account)
        let item = page.items.map(\.item).first {
            $0.author?.id == account.id && $0.text == reply.text
                && $0.createdAt >= reply.createdAt.addingTimeInterval(-60)
        }
        return item.map { PublishedPost(id: $0.id.native, budget: page.budget) }
    }

    func like(_ id: String, as account: NetworkAccount) async throws -> PublishedPost {
        let (_, budget) = try await graph.write("\(id.pathSegment)/likes", [:], account.tokens.access)
        return PublishedPost(id: id, budget: budget)
    }

    // MARK: -

    private func check(_ post: NetworkPost) throws {
        try Self.limits.check(post)
        if !post.photos.isEmpty, post.video != nil {
            throw NetworkError(.invalid, "a post has photos or a video, not both", code: "mixed_media")
        }
    }

    private func url(_ path: String, _ account: NetworkAccount) -> String {
        "\(graph.base)/\(path)".adding(graph.proof(of: account.tokens.access))
    }

    private func posted(_ id: String, _ budget: Budget?) -> PublishedPost {
        PublishedPost(id: id, url: "https://www.facebook.com/\(id)", budget: budget)
    }

    private func other(in thread: String, _ account: NetworkAccount) async throws -> String {
        let (json, _) = try await graph.read(thread.pathSegment, ["fields": "participants"], account.tokens.access)
        let people = (json["participants"]?["data"]).list.compactMap { $0["id"]?.identifier }
        guard let other = people.first(where: { $0 != account.id }) else {
            throw NetworkError(.notFound, "the thread has no other participant")
        }
        return other
    }

    private func place(
        _ location: ItemLocation,
        _ account: NetworkAccount
    ) async throws -> (id: String, name: String?) {
        let center = location.latitude.flatMap { latitude in location.longitude.map { "\(latitude),\($0)" } }
        let (json, _) = try await graph.read(
            "search",
            [
                "type": "place", "center": center, "distance": center == nil ? nil : "1000", "q": location.name,
                "fields": "id,name", "limit": "1",
            ],
            account.tokens.access
        )
        guard let place = json["data"].list.first, let id = place["id"]?.identifier else {
            throw NetworkError(.invalid, "Facebook has no place at this location", code: "place_not_found")
        }
        return (id, place["name"]?.nonEmpty)
    }
}
