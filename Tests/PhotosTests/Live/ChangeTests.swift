import Foundation
import Logging
import PhotosAPI
@testable import PhotosServer
import Postgres
import Testing
import TestSupport
import Wire

/// The places of changes, which cannot be seen from outside: what commits late, and whoever gives them.
@Suite struct ChangeTests {
    @Test func whatIsCommittedLateTakesALaterPlaceAndIsNotSkipped() async throws {
        try await withPhotos { scene in
            let pool = scene.service.database.pool
            let early = try await scene.key(of: scene.post("early", by: scene.ann).postId)
            let late = try await scene.key(of: scene.post("late", by: scene.bob).postId)
            let listener = try await scene.key(of: scene.post("", by: scene.eve).postId).author
            let placing = Self.placing(over: pool)
            try await settle(placing)
            let feed = ChangeFeed(db: pool.reads)
            let before = try #require(try await ChangeStore(db: pool).marks(of: [Scene.application])[Scene.application])

            try await pool.transaction { db in
                // Noted first, and so with the lower number, but committed last.
                try await PhotoChange.note(.changed, post: late, in: db)
                try await PhotoChange.note(.changed, post: early, in: pool)
                try await settle(placing)
                let seen = try await changes(feed, after: before.place, for: listener)
                #expect(seen.map(\.post) == [early] && seen.map(\.mark.place) == [before.place + 1])
            }
            try await settle(placing)

            let seen = try await changes(feed, after: before.place + 1, for: listener)
            #expect(seen.map(\.post) == [late] && seen.map(\.mark.place) == [before.place + 2])
        }
    }

    @Test func manyWhoGivePlacesAtOnceLeaveNoGapAndGiveNoneTwice() async throws {
        try await withPhotos { scene in
            let pool = scene.service.database.pool
            let post = try await scene.key(of: scene.post("one", by: scene.ann).postId)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        for _ in 0..<25 { try await PhotoChange.note(.changed, post: post, in: pool) }
                    }
                    group.addTask {
                        let placing = Self.placing(over: pool)
                        for _ in 0..<25 { _ = try await placing.place(limit: 7) }
                    }
                }
                try await group.waitForAll()
            }
            try await settle(Self.placing(over: pool))

            let rows = try await scene.rows(
                "SELECT count(*) || ' ' || min(place) || ' ' || max(place) AS row FROM changes"
            )
            // The post itself is one.
            #expect(rows == ["201 1 201"])
        }
    }

    /// With patience: the service asks again where a statement took too long, and nobody does here.
    private static func placing(over pool: PostgresPool) -> ChangePlacing {
        ChangePlacing(database: pool, statementTimeout: .seconds(30))
    }

    private func settle(_ placing: ChangePlacing) async throws {
        while try await placing.place(limit: 1_000).count > 0 {}
    }

    private func changes(
        _ feed: ChangeFeed<PostgresReads>,
        after place: Int64,
        for listener: Person.ID
    ) async throws -> [PlacedChange] {
        try await feed.changes(after: place, in: Scene.application, for: listener, scope: .all)
            .filter { $0.kind == .changed }
    }
}

extension Scene {
    fileprivate func key(of post: String) throws -> PostKey {
        guard let key = PostKey(post) else { throw TestSupportError("\(post) is no post") }
        return key
    }
}
