import Foundation
import SocialAPI
import Testing
import Wire

@testable import SocialServer

/// Mastodon 4.7 and older, as Mastodon.py's tests have met it.
@Suite(.enabled(if: Recordings.folder != nil, "run by make recorded")) struct RecordedMastodonTests {
    private let ann = NetworkAccount.ann(instance: "https://h", details: [:])

    private func mastodon(_ network: RecordedNetwork) -> MastodonConnector {
        MastodonConnector(ConnectorParts(network, ""), pause: noPause)
    }

    private func recordings(
        _ method: String,
        _ path: some RegexComponent,
        in all: [Recording]? = nil
    ) throws -> [Recording] {
        try (all ?? Recordings.mastodon.get()).filter { recording in
            recording.method == method && recording.isSuccess && (try? path.regex.wholeMatch(in: recording.path)) != nil
        }
    }

    // MARK: Lists as we ask for them

    @Test func timelines() async throws {
        var count = 0
        let path = /\/api\/v1\/(timelines\/.+|accounts\/\d+\/statuses|favourites|bookmarks|trends\/statuses)/
        let lists = try recordings("GET", path)
        for recording in lists {
            let network = RecordedNetwork()
            network.answer("GET https://h/api/v1/timelines/home", as: recording)

            let page = try await mastodon(network).feed(PageRequest(limit: 40, includesRaw: true), as: ann)

            let statuses = try #require(ReferenceJSON.read(recording.body) as? [[String: Any]])
            expectAll(page.items.map(\.item), of: statuses, recording.from)
            for (item, status) in zip(page.items, statuses) { expect(item, shows: status) }
            expect(page, goesOnAs: recording)
            count += statuses.count
        }
        #expect(lists.count >= 40 && count >= 200)
        Recordings.say("mastodon: \(lists.count) timelines of \(count) statuses")
    }

    @Test func notifications() async throws {
        var count = 0
        let lists = try recordings("GET", /\/api\/v1\/notifications/)
        for recording in lists {
            let network = RecordedNetwork()
            network.answer("GET https://h/api/v1/notifications", as: recording)

            let page = try await mastodon(network).notifications(PageRequest(includesRaw: true), as: ann)

            // A mention in a private message is in the list of messages alone.
            let all = try #require(ReferenceJSON.read(recording.body) as? [[String: Any]])
            let told = all.filter { one in
                let visibility = (one["status"] as? [String: Any])?["visibility"] as? String
                return one["type"] as? String != "mention" || visibility != "direct"
            }
            expectAll(page.items.map(\.item), of: told, recording.from)
            for (item, one) in zip(page.items.map(\.item), told) {
                #expect(item.id.native == "notification/\(one["id"] as? String ?? "")")
                #expect(ReferenceJSON.agrees(item.createdAt, one["created_at"]))
                #expect(item.author?.id == (one["account"] as? [String: Any])?["id"] as? String)
                #expect((item.about != nil) == (one["status"] is [String: Any]))
            }
            expect(page, goesOnAs: recording)
            count += told.count
        }
        #expect(lists.count >= 10 && count >= 10)
        Recordings.say("mastodon: \(lists.count) lists of \(count) notifications")
    }

    @Test func conversations() async throws {
        var (count, empty) = (0, 0)
        let lists = try recordings("GET", /\/api\/v1\/conversations\/?/)
        for recording in lists {
            let network = RecordedNetwork()
            network.answer("GET https://h/api/v1/conversations", as: recording)

            let page = try await mastodon(network).threads(PageRequest(includesRaw: true), as: ann)

            let all = try #require(ReferenceJSON.read(recording.body) as? [[String: Any]])
            // Nothing is left to read, and nothing to answer, where the last status was deleted.
            let threads = all.filter { $0["last_status"] is [String: Any] }
            expectAll(page.items.map(\.item), of: threads, recording.from)
            for (item, thread) in zip(page.items.map(\.item), threads) {
                let last = thread["last_status"] as? [String: Any]
                #expect(
                    item.thread == last?["id"] as? String && ReferenceJSON.agrees(item.createdAt, last?["created_at"])
                )
                #expect(item.participants?.count == (thread["accounts"] as? [Any])?.count)
                #expect(item.unread == (thread["unread"] as? Bool == true ? 1 : 0))
            }
            (count, empty) = (count + threads.count, empty + all.count - threads.count)
        }
        #expect(count > 10)
        Recordings.say("mastodon: \(lists.count) lists of \(count) conversations, and \(empty) without a status left")
    }

    // MARK: Statuses wherever they are

    /// In answers to posts, searches, contexts, grouped notifications: whatever is a status is read as one.
    @Test func statuses() async throws {
        var (count, direct) = (0, 0)
        for recording in try Recordings.mastodon.get() where recording.body.contains("\"visibility\"") {
            // Streams are not JSON; they have a test of their own.
            guard let json = try? ReferenceJSON.read(recording.body) else { continue }
            let statuses = ReferenceJSON.objects(in: json) { status in
                ["content", "account", "uri", "visibility", "created_at"].allSatisfy { status[$0] != nil }
            }
            let network = RecordedNetwork()
            let text = try ReferenceJSON.text(of: statuses)
            network.answer("GET https://h/api/v1/timelines/home", 200, text)

            let page = try await mastodon(network).feed(PageRequest(limit: 40, includesRaw: true), as: ann)

            // Foundation writes fractions with fewer digits than it read.
            let written = try #require(ReferenceJSON.read(text) as? [Any])
            expectAll(page.items.map(\.item), of: written, recording.from)
            for (item, status) in zip(page.items, statuses) { expect(item, shows: status) }
            for status in statuses where status["visibility"] as? String == "direct" {
                try await expectMessage(status)
                direct += 1
            }
            count += statuses.count
        }
        #expect(count >= 600 && direct >= 20)
        Recordings.say("mastodon: \(count) statuses in all answers, \(direct) of them messages")
    }

    /// A thread of one.
    private func expectMessage(_ status: [String: Any]) async throws {
        let id = try #require(status["id"] as? String)
        let network = RecordedNetwork()
        let text = String(decoding: try JSONSerialization.data(withJSONObject: status), as: UTF8.self)
        network.answer("GET https://h/api/v1/statuses/\(id)", 200, text)
        network.answer("GET https://h/api/v1/statuses/\(id)/context", 200, #"{"ancestors":[],"descendants":[]}"#)

        let page = try await mastodon(network).messages(of: id, PageRequest(includesRaw: true), as: ann)

        expectAll(page.items.map(\.item), of: [status], id)
        #expect(page.items.first?.item.kind == .message)
    }

    @Test func streams() async throws {
        var count = 0
        let streams = try recordings("GET", /\/api\/v1\/streaming\/.+/).filter { $0.body.contains("event: ") }
        for recording in streams {
            let network = RecordedNetwork()
            network.answer("GET https://h/api/v1/streaming/user", as: recording)
            var changes: [NetworkEvent.Change] = []
            for try await event in try await mastodon(network).events(as: ann) { changes.append(event.change) }

            let told = recording.body.matches(of: /event: (\S+)\ndata: [^\n]+\n\n/).map { String($0.output.1) }
            let known = ["update", "status.update", "notification", "delete", "conversation"]
            #expect(changes.count == told.count { known.contains($0) }, "\(recording.from)")
            count += changes.count
        }
        #expect(streams.count >= 4 && count > 0)
        Recordings.say("mastodon: \(count) events of \(streams.count) streams over HTTP; none are of WebSockets")
    }

    // MARK: What else we ask

    @Test func accounts() async throws {
        let people = try recordings("GET", /\/api\/v1\/accounts\/verify_credentials/)
        let instances = try recordings("GET", /\/api\/v2\/instance\/?/)
        for (place, recording) in people.enumerated() {
            let network = RecordedNetwork()
            network.answer("GET https://h/api/v1/accounts/verify_credentials", as: recording)
            let instance = instances[place % instances.count]
            network.answer("GET https://h/api/v2/instance", as: instance)

            let identity = try await mastodon(network).identify(ann)

            let me = try #require(ReferenceJSON.read(recording.body) as? [String: Any])
            #expect(identity.id == me["id"] as? String && identity.username == me["acct"] as? String)
            let limits = MastodonLimits.limits(identity.details)
            #expect(limits.text == 500 && limits.photoTypes?.contains("image/jpeg") == true)
            #expect(identity.details["streaming"]?.hasPrefix("ws") == true, "\(instance.from)")
        }
        #expect(people.count > 50 && !instances.isEmpty)
        Recordings.say("mastodon: \(people.count) accounts, \(instances.count) instances")
    }

    @Test func publishedPosts() async throws {
        let posts = try recordings("POST", /\/api\/v1\/statuses/).filter { $0.body.contains("\"uri\"") }
        for recording in posts {
            let network = RecordedNetwork()
            network.answer("POST https://h/api/v1/statuses", as: recording)

            let posted = try await mastodon(network).publish(.saying("Toot"), prepared: nil, as: ann)

            let status = try #require(ReferenceJSON.read(recording.body) as? [String: Any])
            #expect(posted.id == status["id"] as? String && posted.url == status["url"] as? String)
            #expect(posted.budget?.limit == recording.headers["x-ratelimit-limit"].flatMap(Double.init))
        }
        let liked = try recordings("POST", /\/api\/v1\/statuses\/\d+\/favourite/)
        for recording in liked {
            let network = RecordedNetwork()
            network.answer("POST https://h/api/v1/statuses/1/favourite", as: recording)
            _ = try await mastodon(network).like("1", as: ann)
        }
        #expect(posts.count > 200 && !liked.isEmpty)
        Recordings.say("mastodon: \(posts.count) answers to posts, \(liked.count) to likes")
    }

    @Test func mediaProcessing() async throws {
        let sent = try recordings("POST", /\/api\/v2\/media/)
        let statusChecks = try recordings("GET", /\/api\/v1\/media\/\d+/)
        for recording in sent {
            let network = RecordedNetwork()
            network.answer("POST https://h/api/v2/media", as: recording)
            let media = try #require(ReferenceJSON.read(recording.body) as? [String: Any])
            let id = try #require(media["id"] as? String)
            for statusCheck in statusChecks { network.answer("GET https://h/api/v1/media/\(id)", as: statusCheck) }

            let prepared = try await mastodon(network).prepare(.saying("", photos: [.photo]), as: ann)

            #expect(prepared?.value["media"].list.first?.text == id)
            let isWorkedOn = recording.status == 202 || media["url"] is NSNull
            #expect((network.asked.count > 1) == isWorkedOn, "\(recording.from)")
        }
        #expect(sent.count >= 10)
        Recordings.say("mastodon: \(sent.count) answers to media")
    }

    @Test func errors() async throws {
        let classes: [Int: NetworkError.Class] = [
            400: .invalid, 401: .auth, 403: .permission, 404: .notFound, 422: .invalid,
        ]
        let refused = try Recordings.mastodon.get().filter { $0.status >= 400 }
        for recording in refused {
            let network = RecordedNetwork()
            network.answer("GET https://h/api/v1/timelines/home", as: recording)

            let failed = await failure { try await mastodon(network).feed(PageRequest(), as: ann) }

            #expect(failed?.kind == classes[recording.status], "\(recording.status) \(recording.body.prefix(80))")
            #expect(failed?.reason.isEmpty == false)
        }
        #expect(refused.count >= 25)
        Recordings.say("mastodon: \(refused.count) refusals, none of them of limits (429)")
    }

    // MARK: -

    private func expect(_ item: NetworkItem, shows status: [String: Any]) {
        let shown = status["reblog"] as? [String: Any] ?? status
        let files = (shown["media_attachments"] as? [[String: Any]] ?? []).filter { file in
            ["url", "remote_url"].contains { file[$0] is String }
        }
        let warning = (shown["spoiler_text"] as? String ?? "").filter { !$0.isWhitespace }
        let said = ReferenceJSON.visibleText(ofHTML: shown["content"] as? String ?? "")
        #expect(item.item.id.native == status["id"] as? String)
        #expect(ReferenceJSON.agrees(item.item.createdAt, status["created_at"]))
        #expect(item.item.author?.id == (status["account"] as? [String: Any])?["id"] as? String)
        #expect(item.item.text.filter { !$0.isWhitespace } == warning + said)
        #expect(item.item.media.count == files.count)
        #expect(item.item.stats.likes == shown["favourites_count"] as? Int)
        #expect(item.item.stats.reposts == shown["reblogs_count"] as? Int)
        #expect(item.original == shown["uri"] as? String)
        #expect((item.item.kind == .repost) == (status["reblog"] is [String: Any]))
    }

    private func expect(_ page: NetworkPage, goesOnAs recording: Recording) {
        let next = recording.headers["link"]?.firstMatch(of: /[?&]max_id=(\d+)[^>]*>; rel="next"/)
        #expect(page.next?.value["before"]?.text == next.map { String($0.output.1) }, "\(recording.from)")
        let left = recording.headers["x-ratelimit-remaining"].flatMap(Double.init)
        let end = ReferenceJSON.date(recording.headers["x-ratelimit-reset"])
        #expect(page.budget?.remaining == left)
        // Its microseconds are more than the judge reads.
        if let end, let read = page.budget?.resetAt { #expect(abs(read.timeIntervalSince(end)) < 0.002) }
    }
}
