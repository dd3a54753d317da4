import Foundation
import HTTPTypes
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

@Suite("Scheduled posts") struct ScheduleTests {
    @Test("A scheduled post is published once when it is due, and its results are listed")
    func due() async throws {
        try await withSocial { fixture in
            try await fixture.link(.twitter, .facebook)
            try await fixture.another { _ in
                let added = try await fixture.schedule("later", after: 3_600, #", "networks": ["twitter", "reddit"]"#)
                let waiting = try await fixture.ann.ask(.get, "/feed/scheduled")
                #expect(fixture.networks[.twitter].seen.value.isEmpty)
                fixture.clock.advance(by: 3_601)

                try await eventually(within: .seconds(20), "posted") {
                    try await fixture.ann.ask(.get, "/feed/scheduled").json["scheduled"][0]["state"].string == "done"
                }

                let done = try await fixture.ann.ask(.get, "/feed/scheduled").json["scheduled"]
                #expect(added.status == 200)
                #expect(waiting.json["scheduled"][0]["state"].string == "waiting")
                #expect(waiting.json["scheduled"][0]["id"] == added.json["id"])
                #expect(done[0]["results"]["twitter"]["code"].int == 200)
                #expect(done[0]["results"]["reddit"]["code"].int == 422)
                #expect(fixture.networks[.twitter].seen.value.map(\.text) == ["later"])
                #expect(fixture.networks[.facebook].seen.value.isEmpty)
            }
        }
    }

    @Test("The results of a scheduled post have the same parts as those of an immediate post")
    func parts() async throws {
        try await withSocial { fixture in
            try await fixture.link(.twitter, .facebook)
            fixture.networks[.facebook].behavior.change { $0.supported = [.text] }
            fixture.networks[.twitter].behavior.change {
                $0.publishing = .rejects(NetworkError(.permission, "not allowed"))
            }
            let place = #", "location": {"latitude": 48.2, "longitude": 16.4}"#
            let now = try await fixture.ann.ask(.post, "/feed", #"{"data": {"text": "now"\#(place)}}"#)

            _ = try await fixture.schedule("later", after: 60, place)
            fixture.clock.advance(by: 61)
            try await eventually(within: .seconds(20), "posted") {
                try await fixture.ann.ask(.get, "/feed/scheduled").json["scheduled"][0]["state"].string == "done"
            }

            let results = try await fixture.ann.ask(.get, "/feed/scheduled").json["scheduled"][0]["results"]
            for network in ["facebook", "twitter"] {
                #expect(results[network]["parts"] == now.json["data"]["results"][network]["parts"])
            }
            #expect(results["facebook"]["parts"]["text"].int == 200)
            #expect(results["facebook"]["parts"]["location"].int == 422)
            #expect(results["twitter"]["parts"]["location"].int == 403)
        }
    }

    @Test("A network that rejects until the post is given up has its result")
    func givenUp() async throws {
        try await withSocial { fixture in
            try await fixture.link(.twitter)
            let busy = NetworkError(.transient, "busy")
            fixture.networks[.twitter].behavior.change { $0.publishing = .rejects(busy) }
            _ = try await fixture.schedule("later", after: 60)
            fixture.clock.advance(by: 60 + 3_601)

            try await eventually(within: .seconds(20), "given up") {
                try await fixture.ann.ask(.get, "/feed/scheduled").json["scheduled"][0]["state"].string == "done"
            }

            let results = try await fixture.ann.ask(.get, "/feed/scheduled").json["scheduled"][0]["results"]
            #expect(results["twitter"]["code"].int == 503)
            #expect(results["twitter"]["parts"]["text"].int == 503)
        }
    }

    @Test("The file of a scheduled post is published and then removed")
    func file() async throws {
        try await withSocial { fixture in
            try await fixture.link(.twitter)

            let added = try await fixture.schedulePicture(after: 60)
            fixture.clock.advance(by: 61)

            #expect(added.status == 200, "\(added.text)")
            try await eventually(within: .seconds(20), "posted") { !fixture.networks[.twitter].seen.value.isEmpty }
            #expect(fixture.networks[.twitter].seen.value.map(\.photo) == ["image/jpeg 10004"])
            try await eventually(within: .seconds(20), "removed") {
                try await fixture.rows("SELECT element AS row FROM post_media").isEmpty
            }
        }
    }

    @Test("Files of scheduled posts over the storage quota are rejected, and text is not")
    func fileLimit() async throws {
        try await withSocial { fixture in
            try await fixture.link(.twitter)
            let first = try await fixture.schedulePicture(after: 3_600)
            // The stored file is enlarged to just below the quota.
            let many = "convert_to(repeat('x', 268430000), 'UTF8')"
            _ = try await fixture.rows("UPDATE post_media SET bytes = \(many) RETURNING element AS row")

            let second = try await fixture.schedulePicture(after: 3_600)
            let text = try await fixture.schedule("text only", after: 60)

            #expect(first.status == 200)
            #expect(text.status == 200)
            #expect(second.status == 507, "\(second.text)")
            #expect(second.problem?.code == "storage_quota_exceeded", "\(second.text)")
            #expect(try await fixture.rows("SELECT count(*)::text AS row FROM post_media") == ["1"])
        }
    }

    @Test("A canceled post is not published, and only its author can cancel it")
    func canceled() async throws {
        try await withSocial { fixture in
            try await fixture.link(.twitter)
            let id = try await fixture.schedule("never", after: 60).json["id"].string ?? ""

            let foreign = try await fixture.bob.ask(.delete, "/feed/scheduled/\(id)")
            let gone = try await fixture.ann.ask(.delete, "/feed/scheduled/\(id)")
            let again = try await fixture.ann.ask(.delete, "/feed/scheduled/\(id)")
            fixture.clock.advance(by: 120)
            _ = try await fixture.schedule("the next", after: 1)
            fixture.clock.advance(by: 2)

            #expect(foreign.status == 404)
            #expect(gone.status == 200)
            #expect(again.status == 404)
            try await eventually(within: .seconds(20), "the next") {
                fixture.networks[.twitter].seen.value.map(\.text) == ["the next"]
            }
        }
    }

    @Test("A rate-limited post is published later")
    func retry() async throws {
        try await withSocial { fixture in
            try await fixture.link(.twitter)
            let network = fixture.networks[.twitter]
            network.behavior.change { $0.publishing = .rejects(NetworkError(.rateLimited(until: nil), "slow down")) }
            _ = try await fixture.schedule("later", after: 1)
            fixture.clock.advance(by: 2)
            // The clock may advance only after the attempt is recorded, because a post is given up after an hour.
            try await eventually(within: .seconds(30), "tried") {
                guard network.asked.value.contains(where: { $0.hasPrefix("publish") }) else { return false }
                return try await fixture.rows("SELECT state AS row FROM publications") == ["waiting"]
            }

            network.behavior.change { $0.publishing = .accepts }
            // The time exceeds the claim of the first attempt and the minute for which the network is paused.
            fixture.clock.advance(by: 65)
            try await eventually(within: .seconds(30), "posted") {
                network.seen.value.map(\.text) == ["later"]
            }
        }
    }

    @Test("A scheduled post to an unlinked network has a result with the reason")
    func failureReason() async throws {
        try await withSocial { fixture in
            try await fixture.link(.twitter)
            _ = try await fixture.schedule("later", after: 60, #", "networks": ["twitter"]"#)
            _ = try await fixture.ann.ask(.delete, "/networks/twitter")
            fixture.clock.advance(by: 61)

            try await eventually(within: .seconds(20), "given up") {
                try await fixture.ann.ask(.get, "/feed/scheduled").json["scheduled"][0]["state"].string == "done"
            }
            let results = try await fixture.ann.ask(.get, "/feed/scheduled").json["scheduled"][0]["results"]

            #expect(results["twitter"]["code"].int == 422)
            #expect(results["twitter"]["reason"].string == "twitter is not linked")
        }
    }

    @Test("Tokens in the request cannot be used for a scheduled post")
    func requestAccounts() async throws {
        try await withSocial { fixture in
            let at = Timestamp.string(from: fixture.clock.read().addingTimeInterval(60))
            let meta = #"{"twitter": {"access_token": "ann"}}"#
            let body = #"{"at": "\#(at)", "meta": \#(meta), "data": {"text": "later", "networks": ["twitter"]}}"#

            let answer = try await fixture.ann.ask(.post, "/feed/schedule", body)

            #expect(answer.status == 400, "\(answer.text)")
            #expect(answer.problem?.code == "no_target_network", "\(answer.text)")
        }
    }

    @Test("Scheduled posts are paged, and a cursor is valid only for its user and list")
    func pages() async throws {
        try await withSocial { fixture in
            try await fixture.link(.twitter)
            for index in 0..<7 {
                // Two posts have the same time.
                _ = try await fixture.schedule("\(index)", after: 600 - Double(index / 2) * 60)
            }
            var (cursor, texts, pages) = (String?.none, [String](), 0)
            repeat {
                let path = "/feed/scheduled?limit=2" + (cursor.map { "&cursor=\($0)" } ?? "")
                let page = try await fixture.ann.ask(.get, path).json
                texts += page["scheduled"].array.compactMap { $0["text"].string }
                (cursor, pages) = (page["next"].string, pages + 1)
                if let cursor, pages == 1 {
                    #expect(try await fixture.bob.ask(.get, "/feed/scheduled?cursor=\(cursor)").status == 400)
                    #expect(try await fixture.ann.ask(.get, "/scroll/feed?cursor=\(cursor)").status == 400)
                }
            } while cursor != nil && pages < 10

            #expect(pages == 4)
            #expect(texts.count == 7)
            #expect(texts.first == "6")
            #expect(texts.sorted() == (0..<7).map(String.init))
        }
    }

    @Test(
        "A missing, past or too late time is rejected, and so is missing data",
        arguments: [
            (#"{"data": {"text": "a"}}"#, "at"), (#"{"at": "2020-01-01T00:00:00Z", "data": {"text": "a"}}"#, "at"),
            (#"{"at": "2999-01-01T00:00:00Z", "data": {"text": "a"}}"#, "at"),
            (#"{"at": "2999-01-01T00:00:00Z"}"#, "data"),
        ]
    )
    func invalidTime(body: String, field: String) async throws {
        try await withSocial { fixture in
            try await fixture.link(.twitter)

            let answer = try await fixture.ann.ask(.post, "/feed/schedule", body)

            #expect(answer.status == 400, "\(answer.text)")
            #expect(answer.problem?.field == field, "\(answer.text)")
        }
    }
}

extension SocialFixture {
    /// A file of 10,004 bytes that begins like a JPEG.
    static let picture: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0] + [UInt8](repeating: 7, count: 10_000)

    func schedule(
        _ text: String,
        after seconds: TimeInterval,
        _ fields: String = ""
    ) async throws -> TestHTTPResponse {
        let at = Timestamp.string(from: clock.read().addingTimeInterval(seconds))
        return try await ann.ask(.post, "/feed/schedule", #"{"at": "\#(at)", "data": {"text": "\#(text)"\#(fields)}}"#)
    }

    /// Schedules a post by Ana with a picture, as a form.
    func schedulePicture(_ text: String = "a picture", after seconds: TimeInterval) async throws -> TestHTTPResponse {
        let at = Timestamp.string(from: clock.read().addingTimeInterval(seconds))
        let form = Form(data: #"{"text": "\#(text)", "at": "\#(at)"}"#, photo: Self.picture)
        return try await ann.ask(.post, "/feed/schedule", form.body, headers: form.headers)
    }
}
