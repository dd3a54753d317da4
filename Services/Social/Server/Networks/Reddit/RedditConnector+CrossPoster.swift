import Foundation
import HTTPTypes
import Multipart
import NIOCore
import OAuth1
import SocialAPI
import Wire

extension RedditConnector {
    private static let limits = PostLimits(
        text: 40_000,
        textUnit: .characters,
        photos: 1,
        photoBytes: 20_971_520,
        photoTypes: ["image/jpeg", "image/png", "image/gif"],
        reply: 10_000
    )

    func accountCapabilities(of account: NetworkAccount) -> AccountCapabilities {
        AccountCapabilities(
            supported: [.feed, .messages, .notifications, .text, .photo, .like, .reply],
            limits: Self.limits,
            reasons: [
                .video: "videos cannot be posted to Reddit from here",
                .location: "Reddit's posts have no location",
                .favorite: "Reddit has votes instead of favourites",
            ]
        )
    }

    private struct Prepared: Codable { var image: String }

    /// Uploads the photo to storage that Reddit assigns; the response has the photo's URL.
    func prepare(_ post: NetworkPost, as account: NetworkAccount) async throws -> PreparedPost? {
        try Self.limits.check(post)
        guard let photo = post.photos.first else { return nil }
        let (lease, _) = try await calls.json(
            signed(
                .form(
                    "\(key.baseURL)/api/media/asset.json",
                    ["filepath": photo.fileName, "mimetype": photo.type, "raw_json": "1"]
                ),
                account
            )
        )
        guard let action = lease["args"]?["action"]?.nonEmpty else {
            throw NetworkError(.transient, "Reddit assigned no storage for the photo")
        }
        let uploadURL = action.hasPrefix("//") ? "\(key.baseURL.prefix { $0 != ":" }):\(action)" : action
        guard calls.http.mayConnect(uploadURL) else {
            throw NetworkError(.transient, "Reddit assigned storage on a host that is not its own")
        }
        var form = MultipartForm()
        let fields = (lease["args"]?["fields"]).list
        for field in fields { form.add(field["name"]?.text ?? "", field["value"]?.text ?? "") }
        form.add("file", fileName: photo.fileName, contentType: photo.type, photo.bytes)
        // The storage needs no token, and responds with XML.
        let response = try await calls.send(Self.named(.multipart(uploadURL, form)))
        let location = response.text.firstMatch(of: /<Location>([^<]+)<\/Location>/)
        guard let image = location.map({ PercentEncoding.decode(PlainText.unescaped(String($0.output.1))) }),
            JSONValue.string(image).link != nil
        else { throw NetworkError(.transient, "Reddit returned no URL for the photo") }
        return try NetworkCursor(Prepared(image: image))
    }

    /// Posts to the account's own profile, since the rules of communities are written for people.
    func publish(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost
    {
        try Self.limits.check(post)
        guard let username = account.username else {
            throw NetworkError.unsupported("the account's user name is unknown")
        }
        let image = try prepared?.read(as: Prepared.self).image
        let (title, body) = Self.titled(post)
        let request = NetworkRequest.form(
            "\(key.baseURL)/api/submit",
            [
                "api_type": "json", "raw_json": "1", "sr": "u_\(username)", "kind": image == nil ? "self" : "image",
                "title": title, "text": image == nil ? body : nil, "url": image, "resubmit": "true",
                "sendreplies": "true",
            ]
        )
        let (json, budget) = try await calls.json(signed(request, account), isWrite: true)
        let data = json["json"]?["data"]
        // Reddit processes a photo before it becomes a post, and sends the post's id only through a WebSocket.
        let id = data?["name"]?.nonEmpty ?? data?["id"]?.nonEmpty.map { "t3_\($0)" }
        guard id != nil || image != nil else {
            throw NetworkError(.unknownOutcome, "Reddit's response has no id")
        }
        return PublishedPost(id: id, url: data?["url"]?.link, budget: budget)
    }

    /// Searches the account's latest posts.
    func find(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost? {
        guard let username = account.username else {
            throw NetworkError.unsupported("the account's user name is unknown")
        }
        let path = "/user/\(username.pathSegment)/submitted"
        let (json, budget) = try await read(path, ["limit": "50", "sort": "new"], account)
        let (title, body) = Self.titled(post)
        let found = (json["data"]?["children"]).list.compactMap { $0["data"] }.first { data in
            data["title"]?.text == title && (!post.photos.isEmpty || (data["selftext"]?.text ?? "") == body)
                && (data["created_utc"]?.epoch).map { $0 >= post.createdAt.addingTimeInterval(-60) } == true
        }
        return found?["name"]?.nonEmpty.map { name in
            PublishedPost(
                id: name,
                url: found?["permalink"]?.nonEmpty.map { "https://www.reddit.com\($0)" },
                budget: budget
            )
        }
    }

    /// Replies to the thread's latest message.
    func reply(_ reply: NetworkReply, as account: NetworkAccount) async throws -> PublishedPost {
        try Self.limits.check(reply)
        let thread = try await threadMessages(reply.thread, account)
        // Reddit rejects a reply to the account's own message, so the latest message of another member is used.
        let others = thread.filter { $0.author?.name.lowercased() != account.username?.lowercased() }
        guard let parent = others.first ?? thread.first else {
            throw NetworkError(.notFound, "there is no such thread")
        }
        let request = NetworkRequest.form(
            "\(key.baseURL)/api/comment",
            ["api_type": "json", "raw_json": "1", "thing_id": parent.id.native, "text": reply.text]
        )
        let (json, budget) = try await calls.json(signed(request, account), isWrite: true)
        let thing = (json["json"]?["data"]?["things"]).list.first?["data"]
        let id = thing?["name"]?.nonEmpty ?? thing?["id"]?.nonEmpty
        guard let id else { throw NetworkError(.unknownOutcome, "Reddit's response has no id") }
        return PublishedPost(id: id, budget: budget)
    }

    func find(_ reply: NetworkReply, as account: NetworkAccount) async throws -> PublishedPost? {
        let found = try await threadMessages(reply.thread, account).first { message in
            message.author?.name.lowercased() == account.username?.lowercased() && message.text == reply.text
                && message.createdAt >= reply.createdAt.addingTimeInterval(-60)
        }
        return found.map { PublishedPost(id: $0.id.native) }
    }

    func like(_ id: String, as account: NetworkAccount) async throws -> PublishedPost {
        let request = NetworkRequest.form("\(key.baseURL)/api/vote", ["id": id, "dir": "1"])
        let response = try await calls.send(signed(request, account), isWrite: true)
        return PublishedPost(id: id, budget: response.budget)
    }

    // MARK: -

    private func threadMessages(_ thread: String, _ account: NetworkAccount) async throws -> [Item] {
        let (json, _) = try await conversation(thread, account)
        return RedditItems(page: PageRequest(), me: account.username).messages(json, in: thread)
    }

    /// Returns a title and a body.
    ///
    /// Reddit requires a title: the first line, shortened if it is too long.
    static func titled(_ post: NetworkPost) -> (title: String, body: String) {
        let text = post.text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.isEmpty else { return (post.photos.first?.alt ?? "Photo", "") }
        let line = text.prefix { !$0.isNewline }
        guard line.count <= 300 else { return ("\(line.prefix(299))…", text) }
        return (String(line), text.dropFirst(line.count).trimmingCharacters(in: .whitespacesAndNewlines))
    }
}
