import Foundation
import SocialAPI
import Testing
import Wire

@testable import SocialServer

/// Responses of Reddit from 2018 to 2026 that PRAW's tests recorded.
@Suite("Recorded responses of Reddit", .enabled(if: Recordings.folder != nil, "run by make recorded"))
struct RecordedRedditTests {
    private let ann = NetworkAccount.ann()

    private func reddit(_ network: RecordedNetwork) -> RedditConnector {
        RedditConnector(ConnectorParts(network, RedditConnector.defaultURL))
    }

    /// Returns the successful responses, each body once.
    private func recordings(_ method: String, _ path: some RegexComponent) throws -> [Recording] {
        var known: Set<String> = []
        return try Recordings.reddit.get().filter { recording in
            recording.method == method && recording.isSuccess
                && (try? path.regex.wholeMatch(in: recording.path)) != nil && known.insert(recording.body).inserted
        }
    }

    private func children(of recording: Recording) throws -> [[String: Any]] {
        let listing = try #require(ReferenceJSON.read(recording.body) as? [String: Any])
        return (listing["data"] as? [String: Any])?["children"] as? [[String: Any]] ?? []
    }

    // MARK: Lists

    @Test("Listings of links are read completely, with cursor and rate limit")
    func listings() async throws {
        var count = 0
        let lists = try recordings("GET", /.*/).filter { recording in
            recording.body.hasPrefix(#"{"kind": "Listing""#) && recording.body.contains(#""kind": "t3""#)
        }
        for recording in lists {
            let links = try children(of: recording).filter { $0["kind"] as? String == "t3" }
            let network = RecordedNetwork()
            let whole = try children(of: recording).count == links.count
            // Comments in the listing are left out.
            let body = whole ? nil : #"{"kind":"Listing","data":{"children":\#(try ReferenceJSON.text(of: links))}}"#
            network.answer("GET https://oauth.reddit.com/new", as: recording, body: body)

            let page = try await reddit(network).feed(PageRequest(limit: 100, includesRaw: true), as: ann)

            expectAll(page.items.map(\.item), of: links, recording.from)
            for (item, link) in zip(page.items.map(\.item), links) { expect(item, shows: link) }
            if whole { try expect(page, continuesLike: recording) }
            count += links.count
        }
        #expect(lists.count > 100)
        #expect(count > 5_000)
        Recordings.say("reddit: \(lists.count) listings of \(count) links")
    }

    @Test("Threads and their messages are read completely")
    func threads() async throws {
        var (count, messages) = (0, 0)
        for recording in try recordings("GET", /\/message\/(messages|sent)\/?/) {
            let threads = try children(of: recording)
            let network = RecordedNetwork()
            network.answer("GET https://oauth.reddit.com/message/messages", as: recording)

            let page = try await reddit(network).threads(PageRequest(limit: 100, includesRaw: true), as: ann)

            expectAll(page.items.map(\.item), of: threads, recording.from)
            try expect(page, continuesLike: recording)
            for (item, thread) in zip(page.items.map(\.item), threads) {
                messages += try await expectMessages(of: item, thread)
            }
            count += threads.count
        }
        for recording in try recordings("GET", /\/message\/messages\/\w+\/?/) {
            let network = RecordedNetwork()
            network.answer("GET https://oauth.reddit.com/message/messages/1", as: recording)
            let page = try await reddit(network).messages(of: "t4_1", PageRequest(limit: 100), as: ann)
            #expect(!page.items.isEmpty)
            #expect(page.items.allSatisfy { !$0.item.text.isEmpty })
        }
        #expect(count > 100)
        #expect(messages > count)
        Recordings.say("reddit: \(count) threads of \(messages) messages")
    }

    /// Expects the messages of a thread, including all replies, and returns their number.
    private func expectMessages(of thread: Item, _ json: [String: Any]) async throws -> Int {
        let recordedJSON = ReferenceJSON.objects(in: json) { $0["kind"] as? String == "t4" }.compactMap {
            $0["data"] as? [String: Any]
        }
        let network = RecordedNetwork()
        let body = #"{"kind":"Listing","data":{"children":\#(try ReferenceJSON.text(of: [json]))}}"#
        let id = try #require(thread.thread)
        network.answer("GET https://oauth.reddit.com/message/messages/\(id.dropFirst(3))", 200, body)

        let page = try await reddit(network).messages(of: id, PageRequest(limit: 1_000), as: ann)

        #expect(Set(page.items.map(\.item.id.native)) == Set(recordedJSON.compactMap { $0["name"] as? String }))
        #expect(page.items.map(\.item.createdAt).max() == thread.createdAt)
        let bodies = Dictionary(recordedJSON.map { ($0["name"] as? String ?? "", $0["body"] as? String ?? "") }) { $1 }
        for item in page.items.map(\.item) { #expect(item.text == bodies[item.id.native]) }
        return recordedJSON.count
    }

    @Test("Notifications are read completely, without private messages")
    func inbox() async throws {
        var count = 0
        let lists = try recordings("GET", /\/message\/(inbox|unread|mentions|comments|selfreply)\/?/)
        for recording in lists {
            // Private messages are only in the list of messages.
            let expected = try children(of: recording).filter { $0["kind"] as? String != "t4" }
            let network = RecordedNetwork()
            network.answer("GET https://oauth.reddit.com/message/inbox", as: recording)

            let page = try await reddit(network).notifications(PageRequest(limit: 100, includesRaw: true), as: ann)

            expectAll(page.items.map(\.item), of: expected, recording.from)
            for (item, one) in zip(page.items.map(\.item), expected) {
                let data = try #require(one["data"] as? [String: Any])
                #expect(item.text.hasSuffix(data["body"] as? String ?? "?"))
                #expect(item.unread == (data["new"] as? Bool == true ? 1 : 0))
                #expect(item.kind != .message)
                #expect(item.kind != .other, "\(data["type"] ?? "")")
            }
            count += expected.count
        }
        #expect(lists.count > 10)
        #expect(count > 10)
        Recordings.say("reddit: \(lists.count) inboxes of \(count) messages and replies")
    }

    @Test("Followed users with a picture are read")
    func follows() async throws {
        var (count, people) = (0, 0)
        for recording in try recordings("GET", /\/(subreddits|users)\/.*/) {
            let all = try children(of: recording).compactMap { $0["data"] as? [String: Any] }
            let expected = all.filter { data in
                data["subreddit_type"] as? String == "user" && (data["icon_img"] as? String)?.hasPrefix("http") == true
            }
            let network = RecordedNetwork()
            network.answer("GET https://oauth.reddit.com/subreddits/mine/subscriber", as: recording)

            let page = try await reddit(network).follows(PageRequest(limit: 100), as: ann)

            #expect(page.people.map { "u_\($0.username)" } == expected.map { $0["display_name"] as? String ?? "" })
            (count, people) = (count + all.count, people + expected.count)
        }
        #expect(people > 10)
        #expect(count > people)
        Recordings.say("reddit: \(people) people with a picture among \(count) subreddits")
    }

    // MARK: Other requests

    @Test("Accounts and renewed tokens are read")
    func accounts() async throws {
        let people = try recordings("GET", /\/api\/v1\/me/)
        for recording in people {
            let network = RecordedNetwork()
            network.answer("GET https://oauth.reddit.com/api/v1/me", as: recording)
            let identity = try await reddit(network).identify(ann)
            let me = try #require(ReferenceJSON.read(recording.body) as? [String: Any])
            #expect(identity.username == me["name"] as? String)
            #expect(identity.id == "t2_\(me["id"] as? String ?? "")")
        }
        let tokens = try recordings("POST", /\/api\/v1\/access_token/)
        for recording in tokens {
            let network = RecordedNetwork()
            network.answer("POST https://www.reddit.com/api/v1/access_token", as: recording)
            var account = ann
            account.tokens.refresh = "refresh"
            let fresh = try await reddit(network).renew(account)
            let recordedJSON = try #require(ReferenceJSON.read(recording.body) as? [String: Any])
            let seconds = try #require(recordedJSON["expires_in"] as? Double)
            #expect(fresh.access == recordedJSON["access_token"] as? String)
            #expect(fresh.expiresAt == testNow.addingTimeInterval(seconds))
        }
        #expect(people.count > 3)
        #expect(tokens.count > 1)
        Recordings.say("reddit: \(people.count) accounts, \(tokens.count) kinds of tokens")
    }

    @Test("Responses to posts are read, and photos have no id yet")
    func publishedPosts() async throws {
        var (texts, photos) = (0, 0)
        for recording in try recordings("POST", /\/api\/submit\/?/) {
            let network = RecordedNetwork()
            network.answer("POST https://oauth.reddit.com/api/submit", as: recording)
            let recordedJSON = try #require(ReferenceJSON.read(recording.body) as? [String: Any])
            let data = (recordedJSON["json"] as? [String: Any])?["data"] as? [String: Any]
            let isPhoto = data?["websocket_url"] != nil
            let prepared = isPhoto ? try NetworkCursor(["image": "https://i/1.jpg"]) : nil

            let posted = try await reddit(network).publish(.saying("Hi"), prepared: prepared, as: ann)

            #expect(posted.id == data?["name"] as? String)
            #expect((posted.id == nil) == isPhoto)
            (texts, photos) = (texts + (isPhoto ? 0 : 1), photos + (isPhoto ? 1 : 0))
        }
        #expect(texts > 10)
        #expect(photos > 3)
        Recordings.say(
            "reddit: \(texts) responses to texts, \(photos) to photos, whose ids are sent only over WebSockets"
        )
    }

    @Test("Photos are uploaded with the fields of their lease")
    func uploadLeases() async throws {
        let media = "https://reddit-uploaded-media.s3-accelerate.amazonaws.com"
        let all = try Recordings.reddit.get()
        var count = 0
        for (lease, answer) in zip(all, all.dropFirst())
        where lease.path == "/api/media/asset.json" && answer.origin == media && answer.status == 201 {
            let network = RecordedNetwork(hosts: ["reddit-uploaded-media.s3-accelerate.amazonaws.com"])
            network.answer("POST https://oauth.reddit.com/api/media/asset.json", as: lease)
            network.answer("POST \(media)", as: answer)

            let prepared = try await reddit(network).prepare(.saying("", photos: [.photo]), as: ann)

            let image = try #require(prepared?.value["image"]?.text)
            #expect(image.hasPrefix("\(media)/"))
            #expect(!image.contains("%2F"))
            let recordedJSON = try #require(ReferenceJSON.read(lease.body) as? [String: Any])
            let fields = (recordedJSON["args"] as? [String: Any])?["fields"] as? [[String: String]] ?? []
            let sent = try #require(network.last?.text)
            for field in fields { #expect(sent.contains(field["value"] ?? "?")) }
            count += 1
        }
        #expect(count > 10)
        Recordings.say("reddit: \(count) photos uploaded with a lease")
    }

    @Test("Error responses have the class of their status or error")
    func errors() async throws {
        let classes: [Int: NetworkError.Class] = [
            400: .invalid, 401: .auth, 403: .permission, 404: .notFound, 409: .invalid, 413: .invalid, 500: .transient,
        ]
        let refused = try Recordings.reddit.get().filter { recording in
            recording.status >= 400 || recording.body.prefix(2_000).contains(#""errors": [["#)
        }
        for recording in refused {
            let network = RecordedNetwork()
            network.answer("GET https://oauth.reddit.com/new", as: recording)

            let failed = await failure { try await reddit(network).feed(PageRequest(), as: ann) }

            let isLoggedOut = recording.body.contains("USER_REQUIRED")
            let expected = classes[recording.status] ?? (isLoggedOut ? .auth : .invalid)
            #expect(failed?.kind == expected, "\(recording.status) \(recording.body.prefix(200))")
            #expect(failed?.reason.contains("<") == false)
            #expect(failed?.reason.isEmpty == false)
            // A body that is not JSON is a page of HTML.
            let recordedJSON = (try? ReferenceJSON.read(recording.body)) as? [String: Any]
            if let why = recordedJSON?["explanation"] as? String {
                #expect(failed?.reason == NetworkError.oneLine(why))
            }
        }
        #expect(refused.count > 50)
        Recordings.say("reddit: \(refused.count) errors, none of them of rate limits (429)")
    }

    // MARK: -

    private func expect(_ item: Item, shows link: [String: Any]) {
        guard let data = link["data"] as? [String: Any] else {
            Issue.record("a link without data")
            return
        }
        let author = data["author"] as? String
        let text = [data["title"] as? String, data["selftext"] as? String].compactMap { $0 }.filter { !$0.isEmpty }
        #expect(item.id.native == data["name"] as? String)
        #expect(item.createdAt.timeIntervalSince1970 == data["created_utc"] as? Double)
        #expect(item.author?.username == (author == "[deleted]" ? nil : author))
        #expect(item.text == text.joined(separator: "\n\n"))
        #expect(item.stats.comments == data["num_comments"] as? Int)
        #expect(item.liked == (data["likes"] as? Bool ?? false))
        #expect(item.url == (data["permalink"] as? String).map { "https://www.reddit.com\($0)" })
        let gallery = (data["gallery_data"] as? [String: Any])?["items"] as? [Any]
        if let gallery, data["media_metadata"] is [String: Any] {
            #expect(item.media.count == gallery.count, "\(item.id)")
        } else if data["is_video"] as? Bool == true, data["media"] is [String: Any] {
            #expect([.video, .gif].contains(item.media.first?.kind), "\(item.id)")
        } else if data["is_self"] as? Bool == false, data["crosspost_parent"] == nil {
            #expect(!item.media.isEmpty, "\(item.id)")
        }
    }

    private func expect(_ page: NetworkPage, continuesLike recording: Recording) throws {
        let listing = try #require(ReferenceJSON.read(recording.body) as? [String: Any])
        let after = (listing["data"] as? [String: Any])?["after"] as? String
        #expect(page.next?.value["after"]?.text == after, "\(recording.from)")
        let left = recording.headers["x-ratelimit-remaining"].flatMap(Double.init)
        let seconds = recording.headers["x-ratelimit-reset"].flatMap(Double.init)
        #expect(page.budget?.remaining == left)
        #expect(page.budget?.resetAt == seconds.map { testNow.addingTimeInterval($0) })
    }
}
