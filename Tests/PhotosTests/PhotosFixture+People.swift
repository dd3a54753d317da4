import AuthAPI
import PhotosAPI
@testable import PhotosServer
import Postgres
import ServiceClient
import ServiceHost
import TestSupport
import Wire

extension PhotosFixture {
    /// Sets or removes a block like an event from conversations.
    func set(blocked: Bool, _ other: TestUser, by testUser: TestUser) async throws {
        let database = service.database.pool
        let follows = Follows(
            database: database,
            people: People(database: database, auth: AuthClient(auth.client)),
            links: MediaLinks(publicURL: "http://127.0.0.1:8080"),
            cursors: CursorSigner(secrets: [TestService.secret]),
            maximum: 1_000,
            mergeThreshold: 1_000
        )
        try await database.transaction { db in
            try await Blocks(follows: follows).set(testUser.id, other.id, isBlocked: blocked, in: db)
        }
    }

    /// Creates profiles of the users, so that other users can find them.
    func createProfiles(_ testUsers: TestUser...) async throws {
        for testUser in testUsers { _ = try await testUser.photos.me() }
    }

    /// Returns the follower counts, feed entries and read positions that disagree with the tables.
    func followInconsistencies() async throws -> [String] {
        try await rows(
            """
            SELECT 'followers of ' || person_id AS row FROM people
            WHERE follower_count <> (SELECT count(*) FROM follows WHERE followee_id = person_id)
            UNION ALL
            SELECT 'those followed by ' || person_id FROM people
            WHERE following_count <> (SELECT count(*) FROM follows WHERE follower_id = person_id)
            UNION ALL
            SELECT 'feed of ' || owner_id || ' has ' || author_id || '-' || number FROM feed
            WHERE NOT EXISTS (SELECT FROM follows WHERE follower_id = owner_id AND followee_id = author_id)
            UNION ALL
            SELECT 'mark of ' || follower_id || ' for ' || followee_id FROM follows
            JOIN people ON person_id = followee_id WHERE synced_number > last_post_number
            """
        )
    }
}

extension TestUser {
    /// Returns the items of all pages of a list.
    func all<Item: PageItem>(
        limit: Int = 100,
        _ page: (PhotosClient, Int, String?) async throws -> Page<Item>
    ) async throws -> [Item] {
        var (found, cursor): ([Item], String?) = ([], nil)
        repeat {
            let next = try await page(photos, limit, cursor)
            found += next.items
            cursor = next.next
        } while cursor != nil
        return found
    }

    /// Returns the whole home feed.
    func home(limit: Int = 100) async throws -> [Post] {
        try await all(limit: limit) { try await $0.home(limit: $1, cursor: $2) }
    }
}

extension PhotosFixture {
    /// Returns a client with the credential of the application's own server, which moderates it.
    func moderator() throws -> PhotosClient {
        let token = try ApplicationServer(of: PhotosFixture.application, at: auth.keys).token()
        return PhotosClient(
            ServiceClient(callee: "photos", transport: service.transport, retry: .never) { "Bearer \(token)" }
        )
    }

    /// Inserts posts without images, numbered from 1 and one second apart.
    func insertPosts(_ count: Int64, by testUser: TestUser) async throws {
        try await service.database.pool.run(
            """
            WITH author AS (
                UPDATE people SET last_post_number = \(count), post_count = \(count), last_posted_at = clock_timestamp()
                WHERE application_id = \(testUser.id.application) AND user_id = \(testUser.id.user)
                RETURNING person_id, last_posted_at
            )
            INSERT INTO posts (author_id, number, application_id, text, created_at)
            SELECT person_id, number, \(testUser.id.application), number::text,
                   last_posted_at - make_interval(secs => \(count) - number)
            FROM author, generate_series(1, \(count)) AS number
            """
        )
    }
}
