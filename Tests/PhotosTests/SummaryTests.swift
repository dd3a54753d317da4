import Foundation
import PhotosAPI
import Postgres
import Synchronization
import TestSupport
import Testing
import Wire

@testable import PhotosServer

@Suite("Queries for a page of posts") struct SummaryTests {
    /// Records the statements that it executes.
    struct CountingExecutor: PostgresExecutor {
        let pool: PostgresPool
        let statements = SharedValue<[PostgresQuery]>([])

        func execute(_ query: PostgresQuery) async throws -> PostgresResult {
            statements.change { $0.append(query) }
            return try await pool.execute(query)
        }
    }

    @Test("A page of posts with images, hashtags and comments is read by one statement")
    func singleStatement() async throws {
        try await withPhotos { fixture in
            var keys: [PostKey] = []
            for number in 0..<10 {
                let post = try await fixture.post(
                    "\(number) #tag",
                    by: number.isMultiple(of: 2) ? fixture.ann : fixture.bob
                )
                _ = try await fixture.eve.photos.comment("hi", on: post.postId)
                keys.append(try #require(PostKey(post.postId)))
            }
            let eve = try #require(try await PeopleStore(db: fixture.service.database.pool).find(fixture.eve.id))
            let executor = CountingExecutor(pool: fixture.service.database.pool)
            let store = PostStore(db: executor, links: MediaLinks(publicURL: "http://127.0.0.1:8080"))
            let asked = keys.shuffled() + [PostKey(author: keys[0].author, number: 99)]

            let posts = try await store.summaries(of: asked, for: eve.id)

            #expect(posts.map(\.postId) == asked.dropLast().map(\.postID))
            #expect(posts.allSatisfy { $0.recentComments.count == 1 })
            #expect(posts.allSatisfy { $0.images.count == 1 })
            #expect(posts.allSatisfy { $0.hashtags == ["tag"] })
            #expect(executor.statements.value.count == 1)
            #expect(try await store.summaries(of: [], for: eve.id) == [])
            #expect(executor.statements.value.count == 1)
        }
    }

    @Test("Pages are read in the order of an index, without a sequential scan")
    func indexOrder() async throws {
        try await withPhotos { fixture in
            let pool = fixture.service.database.pool
            try await fixture.post("#tag", by: fixture.ann)
            try await insertPosts(pool)
            let ann = try #require(try await PeopleStore(db: pool).find(fixture.ann.id))
            let executor = CountingExecutor(pool: pool)
            let store = PostStore(db: executor, links: MediaLinks(publicURL: ""))
            let application = PhotosFixture.application
            let page = try await store.page(of: application, for: ann.id, after: nil, limit: 20)
            _ = try await store.page(of: application, for: ann.id, after: page.last, limit: 20)
            _ = try await store.page(tagged: "tag", of: application, for: ann.id, after: page[3], limit: 20)
            _ = try await store.page(by: ann.id, for: ann.id, before: nil, limit: 20)
            #expect(try await store.summaries(of: page.map(\.key), for: ann.id).count == 20)

            for query in executor.statements.value {
                let plan = try await plan(of: query, pool)
                #expect(!plan.contains("Seq Scan on posts"), "\(plan)")
                #expect(!plan.contains("Seq Scan on people"), "\(plan)")
                #expect(!plan.contains("Seq Scan on comments"), "\(plan)")
                #expect(!plan.contains("Seq Scan on likes"), "\(plan)")
                // Sorting one page is fine, but the list must not be sorted by its creation time.
                let sorted = plan.split(separator: "\n").filter { $0.contains("Sort Key") }
                #expect(sorted.allSatisfy { !$0.contains("created_at") }, "\(plan)")
            }
        }
    }

    /// Inserts thousands of posts of Ana, so that the planner avoids a sequential scan.
    private func insertPosts(_ pool: PostgresPool) async throws {
        try await pool.run(
            """
            WITH made AS (
                INSERT INTO posts (author_id, number, application_id, text, created_at)
                SELECT person_id, n, application_id, '', now() - n * interval '1 minute'
                FROM people, generate_series(2, 20000) AS n
                RETURNING author_id, number, application_id, created_at
            ), tagged AS (
                INSERT INTO post_hashtags (author_id, number, ordinal, application_id, tag, created_at)
                SELECT author_id, number, 1, application_id, 'tag', created_at FROM made
            )
            INSERT INTO comments (author_id, number, comment_id, writer_id, text, created_at)
            SELECT author_id, number, 1, author_id, 'x', created_at FROM made
            """
        )
        // Only this test's tables are analyzed, because other tests depend on the statistics of theirs.
        let tables = try await pool.all(
            "SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = current_schema()",
            as: { try $0.string("name") }
        )
        try await pool.run(PostgresQuery(sql: "ANALYZE \(tables.joined(separator: ", "))"))
    }

    /// Returns the plan of a statement with the settings of the service's connections.
    private func plan(of query: PostgresQuery, _ pool: PostgresPool) async throws -> String {
        try await pool.transaction { db in
            for (name, value) in PhotosService.readSettings {
                _ = try await db.execute("SELECT set_config(\(name), \(value), true)")
            }
            let explained = PostgresQuery(sql: "EXPLAIN \(query.sql)", parameters: query.parameters)
            return try await db.all(explained, as: { try $0.string("QUERY PLAN") }).joined(separator: "\n")
        }
    }
}
