import Foundation
import PhotosAPI
import Postgres
import TestSupport
import Testing
import Wire

/// Streams of one's own: of whom one follows, at whatever instance, for as long as one's session lasts.
@Suite struct HomeStreamTests {
    private static let home = "/photos/home/stream"

    @Test func aHomeStreamTellsOfThoseWhomOneFollowsAndOfOneself() async throws {
        try await withPhotos { scene in
            try await scene.service.served { port in
                try await scene.follow(scene.ann, by: scene.eve)
                try await EventStreamClient.with(port: port, Self.home, token: scene.eve.token) { stream in
                    #expect(await stream.event()?.name == "ready")
                    try await scene.post("of a stranger", by: scene.bob)
                    let ofAnn = try await scene.post("of Ann", by: scene.ann)
                    let own = try await scene.post("of myself", by: scene.eve)
                    #expect(await stream.event()?.json["postId"].string == ofAnn.postId)
                    #expect(await stream.event()?.json["postId"].string == own.postId)
                }
            }
        }
    }

    @Test func whatIsPostedAtOneInstanceIsToldAtTheOther() async throws {
        try await withPhotos { scene in
            try await scene.follow(scene.ann, by: scene.eve)
            try await withSecondInstance(of: scene) { second in
                try await second.served { port in
                    try await EventStreamClient.with(port: port, Self.home, token: scene.eve.token) { stream in
                        #expect(await stream.event()?.name == "ready")
                        for text in ["one", "two", "three"] {
                            try await scene.post(text, by: scene.ann)
                            #expect(await stream.event()?.json["text"].string == text)
                        }
                    }
                }
            }
        }
    }

    @Test func aStreamLivesNoLongerThanItsSession() async throws {
        try await withPhotos { scene in
            try await scene.service.served { port in
                let session = UUID().uuidString.lowercased()
                let token = try await scene.auth.keys.token(for: scene.eve.id, session: session)
                try await EventStreamClient.with(port: port, Self.home, token: token) { stream in
                    #expect(await stream.event()?.name == "ready")
                    scene.auth.keys.revoke(session)
                    #expect(await stream.event() == nil)
                }
            }
        }
    }

    @Test func oneStreamTooManyTakesThePlaceOfTheFirst() async throws {
        try await withPhotos(settings: ["STREAMS_MAX_USER": "1", "STREAMS_MAX": "2"]) { scene in
            try await scene.service.served { port in
                try await EventStreamClient.with(port: port, Self.home, token: scene.eve.token) { first in
                    #expect(await first.event()?.name == "ready")
                    try await EventStreamClient.with(port: port, Self.home, token: scene.eve.token) { second in
                        #expect(await second.event()?.name == "ready")
                        #expect(await first.event() == nil)
                        try await EventStreamClient.with(port: port, Self.home, token: scene.bob.token) { third in
                            #expect(await third.event()?.name == "ready")
                            let status = try await EventStreamClient.with(
                                port: port,
                                Self.home,
                                token: scene.ann.token
                            ) { $0.status }
                            #expect(status == 503)
                        }
                    }
                }
                // Their places are free as soon as they have left.
                try await eventually {
                    try await EventStreamClient.with(port: port, Self.home, token: scene.ann.token) { $0.status == 200 }
                }
            }
        }
    }

    @Test func aSilentStreamSaysThatItIsThereAndWhere() async throws {
        try await withPhotos(settings: ["STREAM_HEARTBEAT": "1"]) { scene in
            try await scene.service.served { port in
                try await EventStreamClient.with(port: port, Self.home, token: scene.eve.token) { stream in
                    let ready = try #require(await stream.event())
                    try await scene.post("not for her", by: scene.ann)
                    // The place goes on without an event, until it is that of the post.
                    while case .place(let id) = await stream.next(), id == ready.id {}
                    #expect(stream.lastID != ready.id)
                }
            }
        }
    }
}

extension Scene {
    func follow(_ followee: Player, by follower: Player) async throws {
        for player in [followee, follower] { _ = try await player.photos.posts(limit: 1) }
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
