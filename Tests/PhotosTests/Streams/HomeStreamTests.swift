import Foundation
import PhotosAPI
import Postgres
import TestSupport
import Testing
import Wire

@testable import PhotosServer

@Suite("Home streams") struct HomeStreamTests {
    private static let home = "/photos/home/stream"

    @Test("A home stream sends own posts and posts of followed users")
    func homeScope() async throws {
        try await withPhotos { fixture in
            try await fixture.service.served { port in
                try await fixture.follow(fixture.ann, by: fixture.eve)
                try await EventStreamClient.with(port: port, Self.home, token: fixture.eve.token) { stream in
                    #expect(await stream.event()?.name == "ready")
                    try await fixture.post("of a stranger", by: fixture.bob)
                    let ofAnn = try await fixture.post("of Ann", by: fixture.ann)
                    let own = try await fixture.post("of myself", by: fixture.eve)
                    #expect(await stream.event()?.json["postId"].string == ofAnn.postId)
                    #expect(await stream.event()?.json["postId"].string == own.postId)
                }
            }
        }
    }

    @Test("A stream at one instance receives posts that are created at another")
    func twoInstances() async throws {
        try await withPhotos { fixture in
            try await fixture.follow(fixture.ann, by: fixture.eve)
            try await withSecondInstance(of: fixture) { second in
                try await second.served { port in
                    try await EventStreamClient.with(port: port, Self.home, token: fixture.eve.token) { stream in
                        #expect(await stream.event()?.name == "ready")
                        for text in ["one", "two", "three"] {
                            try await fixture.post(text, by: fixture.ann)
                            #expect(await stream.event()?.json["text"].string == text)
                        }
                    }
                }
            }
        }
    }

    @Test("A stream ends with the session")
    func sessionEnd() async throws {
        try await withPhotos { fixture in
            try await fixture.service.served { port in
                let session = UUID().uuidString.lowercased()
                let token = try await fixture.auth.keys.token(for: fixture.eve.id, session: session)
                try await EventStreamClient.with(port: port, Self.home, token: token) { stream in
                    #expect(await stream.event()?.name == "ready")
                    fixture.auth.keys.revoke(session)
                    #expect(await stream.event() == nil)
                }
            }
        }
    }

    @Test("A new stream replaces the oldest of its user, and the total is limited")
    func streamLimit() async throws {
        try await withPhotos(
            settings: ["STREAMS_MAX": "2"],
            change: { $0.liveUpdates.maximumStreamsOfUser = 1 }
        ) { fixture in
            try await fixture.service.served { port in
                try await EventStreamClient.with(port: port, Self.home, token: fixture.eve.token) { first in
                    #expect(await first.event()?.name == "ready")
                    try await EventStreamClient.with(port: port, Self.home, token: fixture.eve.token) { second in
                        #expect(await second.event()?.name == "ready")
                        #expect(await first.event() == nil)
                        try await EventStreamClient.with(port: port, Self.home, token: fixture.bob.token) { third in
                            #expect(await third.event()?.name == "ready")
                            let status = try await EventStreamClient.with(
                                port: port,
                                Self.home,
                                token: fixture.ann.token
                            ) { $0.status }
                            #expect(status == 503)
                        }
                    }
                }
                // The streams of clients that disconnected no longer count.
                try await eventually {
                    try await EventStreamClient.with(port: port, Self.home, token: fixture.ann.token) {
                        $0.status == 200
                    }
                }
            }
        }
    }

    @Test("The event id advances without an event")
    func heartbeat() async throws {
        try await withPhotos(settings: ["STREAM_HEARTBEAT": "1"]) { fixture in
            try await fixture.service.served { port in
                try await EventStreamClient.with(port: port, Self.home, token: fixture.eve.token) { stream in
                    let ready = try #require(await stream.event())
                    try await fixture.post("not for Eve", by: fixture.ann)
                    // The stream sends new ids without events until the id of the post.
                    while case .place(let id) = await stream.next(), id == ready.id {}
                    #expect(stream.lastID != ready.id)
                }
            }
        }
    }
}

extension PhotosFixture {
    func follow(_ followee: TestUser, by follower: TestUser) async throws {
        for testUser in [followee, follower] { _ = try await testUser.photos.posts(limit: 1) }
        try await service.database.pool.run(
            """
            INSERT INTO follows (follower_id, followee_id, created_at)
            SELECT one.person_id, other.person_id, now() FROM people AS one, people AS other
            WHERE one.application_id = \(follower.id.application) AND one.user_id = \(follower.id.user)
                AND other.application_id = \(followee.id.application) AND other.user_id = \(followee.id.user)
            """
        )
    }
}
