import Foundation
import SandboxServer
import SocialAPI
import Testing
import Wire

@testable import SocialServer

/// The sandbox checks requests like the real networks do.
@Suite("Connectors with the sandbox", .timeLimit(.minutes(2))) struct NetworkJourneyTests {
    @Test("The home feed is read to its end, sorted and without duplicates", arguments: NetworkVariant.withHomeFeed)
    func homeFeed(variant: NetworkVariant) async throws {
        try await withSandboxNetworks { fixture in
            let (connector, ana) = try await fixture.link("ana", on: variant)
            var items: [Item] = []
            var cursor: NetworkCursor?
            var pages = 0
            repeat {
                let page = try await connector.feed(PageRequest(cursor: cursor, limit: 7), as: ana)
                items += page.items.map(\.item)
                cursor = page.next
                pages += 1
                // Vine has no rate limit header fields.
                #expect(page.budget != nil || variant == .vine)
            } while cursor != nil && pages < 12

            #expect(cursor == nil)
            #expect(items.count > 20)
            #expect(pages > 3)
            #expect(Set(items.map(\.id)).count == items.count)
            #expect(zip(items, items.dropFirst()).allSatisfy { $0.createdAt >= $1.createdAt })
            #expect(items.allSatisfy { $0.author != nil })
            #expect(items.allSatisfy { !($0.text.isEmpty && $0.media.isEmpty) })
        }
    }

    @Test("A post is published and found, and an unpublished one is not found", arguments: NetworkVariant.posting)
    func post(variant: NetworkVariant) async throws {
        try await withSandboxNetworks { fixture in
            let (connector, ana) = try await fixture.link("ana", on: variant)
            let supported = connector.accountCapabilities(of: ana).supported
            var post = NetworkPost.saying("Tea & <toast> at https://example.com/a. #breakfast")
            if supported.contains(.photo) { post.photos = [try await fixture.picture()] } else { post.video = .video }
            post.createdAt = Date()

            let prepared = try await connector.prepare(post, as: ana)
            let posted = try await connector.publish(post, prepared: prepared, as: ana)
            let found = try await connector.find(post, prepared: prepared, as: ana)
            var other = post
            (other.text, other.key) = ("Never published", UUID())
            let missing = try await connector.find(other, prepared: nil, as: ana)

            #expect(found != nil)
            #expect(missing == nil)
            // Reddit processes a photo before it returns an id.
            if variant != .reddit {
                #expect(posted.id != nil)
                #expect(found?.id == posted.id)
            }
        }
    }

    /// The seed's table of the elements that each API version can publish.
    private static let table: [NetworkVariant: [PostElement]] = [
        .facebook: [.text, .photo, .video, .location], .facebook2015: [.text, .photo, .video, .location],
        .twitter: [.text, .photo, .video, .location], .twitter2: [.text, .photo, .video],
        .instagram: [.photo, .video], .instagram2015: [], .vine: [.video], .tumblr: [.text, .photo, .video],
    ]

    @Test(
        "Each element of the seed's table can be published alone in each API version that supports it",
        arguments: NetworkVariant.all
    )
    func eachElementAlone(variant: NetworkVariant) async throws {
        try await withSandboxNetworks { fixture in
            let (connector, ana) = try await fixture.link("ana", on: variant)
            let accountCapabilities = connector.accountCapabilities(of: ana)
            let content = PostContent(
                text: "Tea & toast",
                photo: try await fixture.picture(),
                video: try await fixture.video(),
                location: ItemLocation(latitude: 37.72, longitude: -122.49, name: "Lake Merced")
            )
            let accepted = content.elements.filter { accountCapabilities.supported.contains($0.capability) }
            if let expected = Self.table[variant] { #expect(accepted == expected) }
            for element in accepted {
                let post = content.post(of: [element], key: UUID(), createdAt: Date())

                let prepared = try await connector.prepare(post, as: ana)
                let posted = try await connector.publish(post, prepared: prepared, as: ana)

                // Reddit processes a photo before it returns an id.
                #expect(posted.id != nil || variant == .reddit && element == .photo, "\(element)")
            }
        }
    }

    @Test("An account is identified by the id and the name that clients have", arguments: NetworkVariant.all)
    func idForms(variant: NetworkVariant) async throws {
        try await withSandboxNetworks { fixture in
            let (connector, ana) = try await fixture.link("ana", on: variant)
            let known = try #require(fixture.sandbox.networks.account("ana", on: variant.service))
            // Names on Bluesky and Vine have another format.
            for form in [.bluesky, .vine].contains(variant)
                ? [known.id] : [known.id, known.name, known.name.uppercased()]
            {
                var given = ana
                given.id = form

                let identity = try await connector.identify(given)

                #expect(identity.id == ana.id)
                #expect(identity.matches(form), "\(form)")
                #expect(!identity.matches("ben"))
            }
        }
    }

    @Test("Liking twice adds one like", arguments: NetworkVariant.liking)
    func like(variant: NetworkVariant) async throws {
        try await withSandboxNetworks { fixture in
            let (connector, ana) = try await fixture.link("ana", on: variant)
            let home = try await connector.feed(PageRequest(limit: 20), as: ana).items.map(\.item)
            let target = try #require(home.first { $0.liked != true && $0.kind != .repost })

            _ = try await connector.like(target.id.native, as: ana)
            _ = try await connector.like(target.id.native, as: ana)
            let again = try await connector.feed(PageRequest(limit: 20), as: ana).items.map(\.item)

            let liked = try #require(again.first { $0.id == target.id })
            // API 2 of X returns the number of likes but not whether the user likes the post.
            if let before = target.stats.likes, let after = liked.stats.likes, variant != .reddit {
                #expect(after == before + 1)
            }
            #expect(liked.liked == (target.liked == nil ? nil : true))
        }
    }

    @Test("A reply is the newest message of its thread and is found there", arguments: NetworkVariant.withMessages)
    func thread(variant: NetworkVariant) async throws {
        try await withSandboxNetworks { fixture in
            let (connector, ana) = try await fixture.link("ana", on: variant)
            let threads = try await connector.threads(PageRequest(), as: ana).items.map(\.item)
            let thread = try #require(threads.first?.thread)
            let before = try await connector.messages(of: thread, PageRequest(limit: 50), as: ana).items.map(\.item)
            var reply = NetworkReply.saying("Gladly", in: thread)
            reply.createdAt = Date()

            let posted = try await connector.reply(reply, as: ana)
            let after = try await connector.messages(of: thread, PageRequest(limit: 50), as: ana).items.map(\.item)

            #expect(threads.first?.participants?.isEmpty == false)
            #expect(!before.isEmpty)
            #expect(after.first?.text.hasSuffix("Gladly") == true)
            #expect(after.first?.id != before.first?.id)
            #expect(after.first?.id.native == posted.id)
            #expect(try await connector.find(reply, as: ana)?.id == posted.id)
        }
    }

    @Test("Notifications are sorted and without duplicates", arguments: NetworkVariant.withNotifications)
    func notifications(variant: NetworkVariant) async throws {
        try await withSandboxNetworks { fixture in
            let (connector, ana) = try await fixture.link("ana", on: variant)

            var page = try await connector.notifications(PageRequest(limit: 20), as: ana)
            // Reddit's inbox also has private messages, which are not notifications, so a page may be empty.
            while page.items.isEmpty, let next = page.next {
                page = try await connector.notifications(PageRequest(cursor: next, limit: 20), as: ana)
            }
            let items = page.items.map(\.item)

            #expect(!items.isEmpty)
            #expect(Set(items.map(\.id)).count == items.count)
            #expect(zip(items, items.dropFirst()).allSatisfy { $0.createdAt >= $1.createdAt })
        }
    }

    @Test("The same failure has the same class on every network", arguments: NetworkVariant.all)
    func faults(variant: NetworkVariant) async throws {
        try await withSandboxNetworks { fixture in
            let (connector, ana) = try await fixture.link("ana", on: variant)
            func fault(_ rule: ScriptRule) async throws -> NetworkError? {
                try fixture.sandbox.script.add(rule)
                return await failure { try await connector.feed(PageRequest(), as: ana) }
            }

            let limited = try await fault(ScriptRule(service: variant.service, status: 429, retryAfter: 90, times: 1))
            let limitedAt = Date()
            let broken = try await fault(ScriptRule(service: variant.service, status: 503, times: 1))
            let cut = try await fault(ScriptRule(service: variant.service, behaviour: .cut, times: 1))
            let html = try await fault(ScriptRule(service: variant.service, behaviour: .html, times: 1))
            let malformed = try await fault(ScriptRule(service: variant.service, behaviour: .malformed, times: 1))

            guard case .rateLimited(let until?) = limited?.kind else {
                Issue.record("not rate limited: \(String(describing: limited))")
                return
            }
            // Vine and Instagram v1 do not send the end of the limit, and Meta sends minutes.
            let wait = until.timeIntervalSince(limitedAt)
            #expect([.vine, .instagram2015].contains(variant) ? (1...901).contains(wait) : (60...150).contains(wait))
            #expect([broken, cut, html, malformed].map(\.?.kind) == Array(repeating: .transient, count: 4))
            var stranger = ana
            stranger.tokens.access = variant == .bluesky ? BlueskyShapes.jwt("{}") : "unknown"
            #expect(await failure { try await connector.feed(PageRequest(), as: stranger) }?.kind == .auth)
            #expect(try await connector.feed(PageRequest(), as: ana).items.isEmpty == false)
        }
    }
}
