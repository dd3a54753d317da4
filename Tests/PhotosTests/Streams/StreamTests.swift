import Foundation
import HTTPTypes
import PhotosAPI
import Postgres
import Testing
import TestSupport
import Wire

/// Tests over real connections, because a stream has no end.
@Suite("Post streams") struct StreamTests {
    private static let all = "/photos/posts/stream"
    private static let home = "/photos/home/stream"

    @Test("A stream sends new, changed and deleted posts")
    func postEvents() async throws {
        try await withPhotos { fixture in
            try await fixture.service.served { port in
                try await EventStreamClient.with(port: port, Self.all, token: fixture.eve.token) { stream in
                    #expect(stream.status == 200)
                    #expect(stream.contentType == "text/event-stream")
                    #expect(await stream.event()?.name == "ready")
                    let post = try await fixture.post("Look!", by: fixture.ann)
                    let new = try #require(await stream.event())
                    #expect(new.name == "new")
                    #expect(new.json["postId"].string == post.postId)
                    let shown = try await fixture.eve.ask(.get, "/photos/posts/\(post.postId)").json
                    #expect(new.json == shown)

                    try await fixture.eve.photos.like(post.postId)
                    let liked = try #require(await stream.event())
                    #expect(liked.name == "changed")
                    #expect(liked.json["likeCount"].int == 1)
                    #expect(liked.json["isLiked"].bool == true)

                    try await fixture.ann.photos.delete(post.postId)
                    let gone = try #require(await stream.event())
                    #expect(gone.name == "deleted")
                    #expect(gone.json == .object(["postId": .string(post.postId)]))
                    #expect(gone.id != liked.id)
                    #expect(liked.id != new.id)
                }
            }
        }
    }

    @Test("A client that reconnects receives every post once")
    func resume() async throws {
        try await withPhotos { fixture in
            try await fixture.service.served { port in
                var last: String?
                var received: [String] = []
                var posted: [String] = []
                for round in 0..<4 {
                    // Posts are created while no client is connected, and while one is.
                    if round > 0 {
                        for number in 0..<7 {
                            posted.append(try await fixture.post("\(number)", by: fixture.ann).postId)
                        }
                    }
                    try await EventStreamClient.with(
                        port: port,
                        Self.all,
                        token: fixture.eve.token,
                        after: last
                    ) { stream in
                        let ready = try #require(await stream.event())
                        #expect(ready.name == "ready")
                        #expect(last == nil || ready.id == last)
                        for number in 0..<3 {
                            posted.append(try await fixture.post("\(number)", by: fixture.ann).postId)
                        }
                        // The client disconnects early, and the rest follows after reconnecting.
                        while received.count < posted.count - 2 {
                            let event = try #require(await stream.event())
                            #expect(event.name == "new")
                            received.append(event.json["postId"].string ?? "")
                        }
                        last = stream.lastID
                    }
                }
                #expect(received == posted.dropLast(2))
            }
        }
    }

    @Test("A client whose last event is too old or of another database must reload")
    func reload() async throws {
        try await withPhotos { fixture in
            try await fixture.service.served { port in
                func first(after id: String?) async throws -> EventStreamClient.Event? {
                    try await EventStreamClient.with(port: port, Self.all, token: fixture.eve.token, after: id) {
                        await $0.event()
                    }
                }
                let before = try #require(try await first(after: nil)?.id)
                for text in ["one", "two", "three"] { try await fixture.post(text, by: fixture.ann) }
                // The changes have to be numbered before they can be deleted.
                try await EventStreamClient.with(port: port, Self.all, token: fixture.eve.token, after: before) {
                    stream in
                    while await stream.event()?.json["text"].string != "three" {}
                }
                let minimum = try await fixture.rows("SELECT min(change_number)::text AS row FROM changes")
                let middle = try #require(minimum.first)
                _ = try await fixture.service.database.pool.execute(
                    "DELETE FROM changes WHERE change_number <= \(Int64(middle) ?? 0)"
                )

                let reload = try #require(try await first(after: before))
                #expect(reload.name == "reload")
                #expect(reload.json["reason"].string == "too_old")
                // A client continues normally from the id of the reload event.
                #expect(try await first(after: reload.id)?.name == "ready")
                // An id with the same position but of another database is not valid here.
                let place = reload.id?.prefix { $0 != "-" } ?? ""
                #expect(try await first(after: "\(place)-1")?.name == "reload")
                #expect(try await first(after: "999999-1")?.name == "reload")
            }
            let name = try #require(HTTPField.Name("Last-Event-ID"))
            let refused = try await fixture.eve.ask(.get, Self.all, headers: [name: "x"])
            #expect(refused.status == 400)
            #expect(refused.problem?.field == "Last-Event-ID")
        }
    }

    @Test("Posts of blocked users and of other applications are not sent")
    func blocksAndApplications() async throws {
        try await withPhotos { fixture in
            let stranger = try await fixture.testUser("ann", application: "roost")
            try await fixture.post("first", by: fixture.ann)
            try await fixture.block(fixture.ann, by: fixture.eve)
            try await fixture.service.served { port in
                try await EventStreamClient.with(port: port, Self.all, token: fixture.eve.token) { stream in
                    #expect(await stream.event()?.name == "ready")
                    try await fixture.post("for others", by: fixture.ann)
                    try await fixture.post("elsewhere", by: stranger)
                    let received = try await fixture.post("for eve", by: fixture.bob)
                    #expect(await stream.event()?.json["postId"].string == received.postId)
                }
            }
        }
    }

    @Test("A hidden post is sent as deleted, and a restored one as changed")
    func hiddenPost() async throws {
        try await withPhotos { fixture in
            let ana = try await fixture.account("Ana")
            let bo = try await fixture.account("Bo")
            let moderator = try await fixture.account("Mo", scope: "admin")
            try await fixture.service.served { port in
                try await EventStreamClient.with(port: port, Self.all, token: bo.token) { stream in
                    #expect(await stream.event()?.name == "ready")
                    let post = try await fixture.post("Look!", by: ana)
                    #expect(await stream.event()?.name == "new")
                    #expect(try await moderator.photos.hide(post.postId).hiddenAt != nil)
                    #expect(await stream.event()?.name == "deleted")
                    #expect(try await moderator.photos.restore(post.postId).hiddenAt == nil)
                    let back = await stream.event()
                    #expect(back?.name == "changed")
                    #expect(back?.json["text"].string == "Look!")
                }
            }
        }
    }
}
