import Foundation
import Logging
import PhotosAPI
@testable import PhotosServer
import Postgres
import Testing
import TestSupport
import Wire

@Suite("Change numbers") struct ChangeTests {
    @Test("A change that commits late gets a later number and is not skipped")
    func lateCommit() async throws {
        try await withPhotos { fixture in
            let pool = fixture.service.database.pool
            let early = try await fixture.key(of: fixture.post("early", by: fixture.ann).postId)
            let late = try await fixture.key(of: fixture.post("late", by: fixture.bob).postId)
            let viewer = try await fixture.key(of: fixture.post("", by: fixture.eve).postId).author
            let numbering = Self.numbering(over: pool)
            try await numberAll(numbering)
            let feed = ChangeFeed(db: pool.reads)
            let before = try #require(
                try await ChangeStore(db: pool).lastEventIDs(of: [PhotosFixture.application])[PhotosFixture.application]
            )

            try await pool.transaction { db in
                // This change is recorded first, but committed last.
                try await PhotoChange.record(.changed, post: late, in: db)
                try await PhotoChange.record(.changed, post: early, in: pool)
                try await numberAll(numbering)
                let seen = try await changes(feed, after: before.changeNumber, for: viewer)
                #expect(seen.map(\.post) == [early])
                #expect(seen.map(\.eventID.changeNumber) == [before.changeNumber + 1])
            }
            try await numberAll(numbering)

            let seen = try await changes(feed, after: before.changeNumber + 1, for: viewer)
            #expect(seen.map(\.post) == [late])
            #expect(seen.map(\.eventID.changeNumber) == [before.changeNumber + 2])
        }
    }

    @Test("Concurrent numbering leaves no gap and no duplicate")
    func concurrentNumbering() async throws {
        try await withPhotos { fixture in
            let pool = fixture.service.database.pool
            let post = try await fixture.key(of: fixture.post("one", by: fixture.ann).postId)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        for _ in 0..<25 { try await PhotoChange.record(.changed, post: post, in: pool) }
                    }
                    group.addTask {
                        let numbering = Self.numbering(over: pool)
                        for _ in 0..<25 { _ = try await numbering.run(limit: 7) }
                    }
                }
                try await group.waitForAll()
            }
            try await numberAll(Self.numbering(over: pool))

            let rows = try await fixture.rows(
                "SELECT count(*) || ' ' || min(change_number) || ' ' || max(change_number) AS row FROM changes"
            )
            // The post itself is one more change.
            #expect(rows == ["201 1 201"])
        }
    }

    /// Returns a numbering with a long timeout, because the test does not retry like the service.
    private static func numbering(over pool: PostgresPool) -> ChangeNumbering {
        ChangeNumbering(database: pool, statementTimeout: .seconds(30))
    }

    private func numberAll(_ numbering: ChangeNumbering) async throws {
        while try await numbering.run(limit: 1_000).count > 0 {}
    }

    private func changes(
        _ feed: ChangeFeed<PostgresReads>,
        after changeNumber: Int64,
        for viewer: Person.ID
    ) async throws -> [NumberedChange] {
        try await feed.changes(after: changeNumber, in: PhotosFixture.application, for: viewer, scope: .all)
            .filter { $0.kind == .changed }
    }
}

extension PhotosFixture {
    fileprivate func key(of post: String) throws -> PostKey {
        guard let key = PostKey(post) else { throw TestSupportError("\(post) is not the id of a post") }
        return key
    }
}
