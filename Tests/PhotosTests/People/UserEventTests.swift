import AuthAPI
import ConversationsAPI
import Foundation
import HTTPTypes
import PhotosAPI
import Postgres
import ServiceClient
import TestSupport
import Testing
import Wire

/// Events from other services about names, blocks and deletions.
@Suite("Events about users") struct UserEventTests {
    @Test("A changed name appears on posts, comments and likes")
    func changedName() async throws {
        try await withPhotos { fixture in
            let ana = try await fixture.account("Ana")
            let bo = try await fixture.account("Bo")
            let post = try await fixture.post("Look!", by: ana)
            _ = try await ana.photos.comment("mine", on: post.postId)
            try await ana.photos.like(post.postId)
            #expect(try await bo.photos.post(post.postId).author.fullName == "Ana")

            try await fixture.deliver(
                UserChanged(applicationId: "roost", userId: ana.id.user, username: "ana", fullName: "Ana Lima"),
                by: "auth"
            )

            let seen = try await bo.photos.post(post.postId)
            #expect(seen.author.fullName == "Ana Lima")
            #expect(seen.recentComments.map(\.author.fullName) == ["Ana Lima"])
            #expect(try await bo.photos.likes(of: post.postId).items.map(\.author.fullName) == ["Ana Lima"])
            // An event about a user who never used photos is ignored.
            try await fixture.deliver(
                UserChanged(applicationId: "roost", userId: UUID().uuidString, username: "x", fullName: nil),
                by: "auth"
            )
        }
    }

    @Test("A block hides the post until it is removed, and a repeated event has no effect")
    func blockEvents() async throws {
        try await withPhotos { fixture in
            let post = try await fixture.post("Look!", by: fixture.ann)
            let blocked = UserBlocked(applicationId: PhotosFixture.application, userId: "ann", blockedId: "bob")
            let event = try await fixture.deliver(blocked, by: "conversations")
            #expect(try await fixture.bob.ask(.get, "/photos/posts/\(post.postId)").status == 404)
            #expect(try await fixture.eve.ask(.get, "/photos/posts/\(post.postId)").status == 200)

            let unblocked = UserUnblocked(applicationId: PhotosFixture.application, userId: "ann", blockedId: "bob")
            try await fixture.deliver(unblocked, by: "conversations")
            #expect(try await fixture.bob.ask(.get, "/photos/posts/\(post.postId)").status == 200)
            // Events may be delivered twice, so the first one is sent again without an effect.
            try await fixture.deliver(blocked, as: event, by: "conversations")
            #expect(try await fixture.bob.ask(.get, "/photos/posts/\(post.postId)").status == 200)
        }
    }

    @Test("A deleted user leaves no reference, and the id can be used by a new user")
    func deletedUser() async throws {
        try await withPhotos { fixture in
            let own = try await fixture.post("#mine", by: fixture.ann)
            let other = try await fixture.post("#other", by: fixture.bob)
            for (reader, writer, post) in [(fixture.ann, fixture.bob, other), (fixture.bob, fixture.ann, own)] {
                try await reader.photos.follow(writer.id.user)
                try await reader.photos.like(post.postId)
                _ = try await reader.photos.comment("of \(reader.id.user)", on: post.postId)
                try await reader.photos.flag(post.postId)
                _ = try await reader.ask(.get, "/photos/home")
            }
            try await fixture.deliver(
                UserBlocked(applicationId: PhotosFixture.application, userId: "ann", blockedId: "eve"),
                by: "conversations"
            )
            let id = try #require(
                try await fixture.rows(
                    "SELECT person_id::text AS row FROM people WHERE user_id = 'ann'"
                ).first
            )

            try await fixture.deliver(UserDeleted(applicationId: PhotosFixture.application, userId: "ann"), by: "auth")
            try await eventually { try await fixture.rows("SELECT 'x' AS row FROM person_deletions") == [] }
            try await eventually { try await fixture.rows("SELECT 'x' AS row FROM deleted_posts") == [] }

            let named = try await fixture.references(of: id, "ann")
            #expect(named == [])
            #expect(try await fixture.countInconsistencies() == [])
            let left = try await fixture.bob.photos.post(other.postId)
            #expect(left.likeCount == 0)
            #expect(left.commentCount == 0)
            let profile = try await fixture.bob.ask(.get, "/photos/me").json
            #expect(profile["followerCount"].int == 0)
            #expect(profile["followingCount"].int == 0)
            #expect(try await fixture.bob.ask(.get, "/photos/people/ann").status == 404)
            // A later user with the same id gets a new row.
            let again = try await fixture.post("new", by: fixture.ann)
            #expect(again.postId.prefix { $0 != "-" } != Substring(id))
        }
    }

    @Test("A deleted application leaves nothing, and another one keeps its posts")
    func application() async throws {
        try await withPhotos { fixture in
            let own = try await fixture.post("#mine", by: fixture.ann)
            _ = try await fixture.bob.photos.comment("of bob", on: own.postId)
            try await fixture.bob.photos.follow("ann")
            try await fixture.bob.photos.flag(own.postId)
            let cy = try await fixture.account("Cy")
            let kept = try await fixture.post("#kept", by: cy)

            try await fixture.deliver(
                ApplicationDeleted(
                    applicationId: PhotosFixture.application,
                    deletionJob: DeletionJob(id: UUID(), round: 1)
                ),
                by: "auth"
            )

            try await eventually { try await fixture.rows("SELECT 'x' AS row FROM unconfirmed_deletions") == [] }
            let tables = try await fixture.rows(
                """
                SELECT table_name AS row FROM information_schema.columns
                WHERE table_schema = current_schema() AND column_name = 'application_id' ORDER BY 1
                """
            )
            #expect(tables.contains("people"))
            #expect(tables.contains("posts"))
            for table in tables {
                let rows = try await fixture.rows("SELECT DISTINCT application_id AS row FROM \(table)")
                #expect(!rows.contains(PhotosFixture.application), "\(table)")
            }
            #expect(try await fixture.rows("SELECT 'x' AS row FROM deleted_posts") == [])
            #expect(try await cy.photos.post(kept.postId).text == "#kept")
        }
    }

    /// The deletion also waits until the comments of other users are removed.
    @Test("A deletion is confirmed after the last file is removed")
    func deletionCompleted() async throws {
        try await withPhotos { fixture in
            let own = try await fixture.post("mine", by: fixture.ann)
            _ = try await fixture.bob.photos.comment("yours", on: own.postId)
            let deletionJob = DeletionJob(id: UUID(), round: 1)
            let person = try #require(
                try await fixture.rows("SELECT person_id::text AS row FROM people WHERE user_id = 'ann'").first
            )
            // The file is retained for a while, like a backup would do.
            try await fixture.service.database.pool.run(
                """
                INSERT INTO blobs (owner_id, key, due_at)
                VALUES ((SELECT person_id FROM people WHERE user_id = 'ann'), \(String(repeating: "a", count: 26)),
                    now() + interval '1 hour')
                """
            )
            let deleted = UserDeleted(applicationId: PhotosFixture.application, userId: "ann", deletionJob: deletionJob)
            try await fixture.deliver(deleted, by: "auth")
            try await eventually { try await fixture.rows("SELECT 'x' AS row FROM person_deletions") == [] }
            try await eventually { try await fixture.rows("SELECT 'x' AS row FROM deleted_posts") == [] }
            let waiting = try await fixture.rows("SELECT user_number::text AS row FROM unconfirmed_deletions")
            #expect(waiting == [person])

            try await fixture.service.database.pool.run("UPDATE blobs SET due_at = now()")

            try await eventually { try await fixture.rows("SELECT 'x' AS row FROM unconfirmed_deletions") == [] }
            let left = try await fixture.rows("SELECT 'x' AS row FROM blobs WHERE owner_id = \(person)")
            #expect(left == [])
        }
    }
}

extension PhotosFixture {
    /// Delivers an event like another service does, optionally with the id of an earlier one.
    @discardableResult
    func deliver(_ content: some EventContent, as id: UUID = UUID(), by sender: String) async throws -> UUID {
        let json = try WireJSON.encoder().encode(content)
        let event = Event(
            id: id,
            type: type(of: content).type,
            at: Date(),
            content: try WireJSON.decoder().decode(JSONValue.self, from: json)
        )
        let client = try service.peerClient(sender, callee: "photos")
        _ = try await client.send(.post, "/internal/events", body: try WireJSON.encoder().encode(event))
        return id
    }

    /// Returns the columns of all tables that still contain a user's number or id.
    ///
    /// Changes are retained for clients that resume a stream; they contain only ids of posts.
    fileprivate func references(of person: String, _ userID: String) async throws -> [String] {
        let columns = try await rows(
            """
            SELECT table_name || '.' || column_name AS row FROM information_schema.columns
            WHERE table_schema = current_schema() AND table_name NOT IN ('blobs', 'changes', 'pending_changes')
                AND (column_name LIKE '%\\_id' AND data_type = 'bigint'
                        AND column_name NOT IN ('comment_id', 'last_comment_id', 'change_id', 'file_id')
                     OR data_type = 'text')
            """
        )
        var found: [String] = []
        for column in columns {
            let parts = column.split(separator: ".").map(String.init)
            let query: PostgresQuery = """
                SELECT 'x' AS row FROM \(identifier: parts[0])
                WHERE \(identifier: parts[1])::text IN (
                    CASE WHEN pg_typeof(\(identifier: parts[1]))::text = 'bigint' THEN \(person) ELSE \(userID) END)
                LIMIT 1
                """
            if try await service.database.pool.first(query, as: { _ in true }) ?? false { found.append(column) }
        }
        return found
    }
}
