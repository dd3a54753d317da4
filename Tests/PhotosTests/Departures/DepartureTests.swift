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

/// What others tell of people: names, blocks, and that somebody is nobody any more.
@Suite struct DepartureTests {
    @Test func aChangedNameShowsEverywhereAtOnce() async throws {
        try await withPhotos { scene in
            let ana = try await scene.account("Ana")
            let bo = try await scene.account("Bo")
            let post = try await scene.post("Look!", by: ana)
            _ = try await ana.photos.comment("mine", on: post.postId)
            try await ana.photos.like(post.postId)
            #expect(try await bo.photos.post(post.postId).author.fullName == "Ana")

            try await scene.tell(
                UserChanged(applicationId: "roost", userId: ana.id.user, username: "ana", fullName: "Ana Lima"),
                by: "auth"
            )

            let seen = try await bo.photos.post(post.postId)
            #expect(seen.author.fullName == "Ana Lima")
            #expect(seen.recentComments.map(\.author.fullName) == ["Ana Lima"])
            #expect(try await bo.photos.likes(of: post.postId).things.map(\.author.fullName) == ["Ana Lima"])
            // Somebody who was never here is none of ours.
            try await scene.tell(
                UserChanged(applicationId: "roost", userId: UUID().uuidString, username: "x", fullName: nil),
                by: "auth"
            )
        }
    }

    @Test func aBlockHidesBothFromEachOtherUntilItIsTakenBack() async throws {
        try await withPhotos { scene in
            let post = try await scene.post("Look!", by: scene.ann)
            let blocked = UserBlocked(applicationId: Scene.application, userId: "ann", blockedId: "bob")
            let event = try await scene.tell(blocked, by: "conversations")
            #expect(try await scene.bob.ask(.get, "/photos/posts/\(post.postId)").status == 404)
            #expect(try await scene.eve.ask(.get, "/photos/posts/\(post.postId)").status == 200)

            let unblocked = UserUnblocked(applicationId: Scene.application, userId: "ann", blockedId: "bob")
            try await scene.tell(unblocked, by: "conversations")
            #expect(try await scene.bob.ask(.get, "/photos/posts/\(post.postId)").status == 200)
            // The first one comes once more, as events may: nothing happens.
            try await scene.tell(blocked, as: event, by: "conversations")
            #expect(try await scene.bob.ask(.get, "/photos/posts/\(post.postId)").status == 200)
        }
    }

    @Test func ofWhoIsDeletedNothingIsLeft() async throws {
        try await withPhotos { scene in
            let own = try await scene.post("#mine", by: scene.ann)
            let other = try await scene.post("#other", by: scene.bob)
            for (reader, writer, post) in [(scene.ann, scene.bob, other), (scene.bob, scene.ann, own)] {
                try await reader.photos.follow(writer.id.user)
                try await reader.photos.like(post.postId)
                _ = try await reader.photos.comment("of \(reader.id.user)", on: post.postId)
                try await reader.photos.flag(post.postId)
                _ = try await reader.ask(.get, "/photos/home")
            }
            try await scene.tell(
                UserBlocked(applicationId: Scene.application, userId: "ann", blockedId: "eve"),
                by: "conversations"
            )
            let id = try #require(
                try await scene.rows(
                    "SELECT person_id::text AS row FROM people WHERE user_id = 'ann'"
                ).first
            )

            try await scene.tell(UserDeleted(applicationId: Scene.application, userId: "ann"), by: "auth")
            try await eventually { try await scene.rows("SELECT 'x' AS row FROM departures") == [] }
            try await eventually { try await scene.rows("SELECT 'x' AS row FROM deleted_posts") == [] }

            let named = try await scene.namings(of: id, "ann")
            #expect(named == [])
            #expect(try await scene.miscounted() == [])
            let left = try await scene.bob.photos.post(other.postId)
            #expect(left.likeCount == 0 && left.commentCount == 0)
            let profile = try await scene.bob.ask(.get, "/photos/me").json
            #expect(profile["followerCount"].int == 0 && profile["followingCount"].int == 0)
            #expect(try await scene.bob.ask(.get, "/photos/people/ann").status == 404)
            // Who comes by that name after that is somebody new.
            let again = try await scene.post("new", by: scene.ann)
            #expect(again.postId.prefix { $0 != "-" } != Substring(id))
        }
    }

    @Test("Of a deleted application nothing is left, and another one keeps its posts")
    func application() async throws {
        try await withPhotos { scene in
            let own = try await scene.post("#mine", by: scene.ann)
            _ = try await scene.bob.photos.comment("of bob", on: own.postId)
            try await scene.bob.photos.follow("ann")
            try await scene.bob.photos.flag(own.postId)
            let cy = try await scene.account("Cy")
            let kept = try await scene.post("#kept", by: cy)

            try await scene.tell(
                ApplicationDeleted(
                    applicationId: Scene.application,
                    departure: Departure(id: UUID(), round: 1)
                ),
                by: "auth"
            )

            try await eventually { try await scene.rows("SELECT 'x' AS row FROM erasures") == [] }
            let tables = try await scene.rows(
                """
                SELECT table_name AS row FROM information_schema.columns
                WHERE table_schema = current_schema() AND column_name = 'application_id' ORDER BY 1
                """
            )
            #expect(tables.contains("people") && tables.contains("posts"))
            for table in tables {
                let rows = try await scene.rows("SELECT DISTINCT application_id AS row FROM \(table)")
                #expect(!rows.contains(Scene.application), "\(table)")
            }
            #expect(try await scene.rows("SELECT 'x' AS row FROM deleted_posts") == [])
            #expect(try await cy.photos.post(kept.postId).text == "#kept")
        }
    }

    /// Not before the last of his files is gone, and what others said of his posts.
    @Test func whoHasGoneIsAnsweredForOnceHisFilesAreGone() async throws {
        try await withPhotos { scene in
            let own = try await scene.post("mine", by: scene.ann)
            _ = try await scene.bob.photos.comment("yours", on: own.postId)
            let departure = Departure(id: UUID(), round: 1)
            let person = try #require(
                try await scene.rows("SELECT person_id::text AS row FROM people WHERE user_id = 'ann'").first
            )
            // Kept for a moment, as a backup that copies it would.
            try await scene.service.database.pool.run(
                """
                INSERT INTO blobs (owner_id, key, due_at)
                VALUES ((SELECT person_id FROM people WHERE user_id = 'ann'), \(String(repeating: "a", count: 26)),
                    now() + interval '1 hour')
                """
            )
            let deleted = UserDeleted(applicationId: Scene.application, userId: "ann", departure: departure)
            try await scene.tell(deleted, by: "auth")
            try await eventually { try await scene.rows("SELECT 'x' AS row FROM departures") == [] }
            try await eventually { try await scene.rows("SELECT 'x' AS row FROM deleted_posts") == [] }
            let waiting = try await scene.rows("SELECT person_number::text AS row FROM erasures")
            #expect(waiting == [person])

            try await scene.service.database.pool.run("UPDATE blobs SET due_at = now()")

            try await eventually { try await scene.rows("SELECT 'x' AS row FROM erasures") == [] }
            let left = try await scene.rows("SELECT 'x' AS row FROM blobs WHERE owner_id = \(person)")
            #expect(left == [])
        }
    }
}

extension Scene {
    /// Tells photos an event as another service does; again under the id of an earlier one.
    @discardableResult
    func tell(_ content: some EventContent, as id: UUID = UUID(), by teller: String) async throws -> UUID {
        let json = try WireJSON.encoder().encode(content)
        let event = Event(
            id: id,
            type: type(of: content).type,
            at: Date(),
            content: try WireJSON.decoder().decode(JSONValue.self, from: json)
        )
        let client = try service.neighbour(teller, callee: "photos")
        _ = try await client.send(.post, "/internal/events", body: try WireJSON.encoder().encode(event))
        return id
    }

    /// The columns of all tables that name somebody still: by the number that he had here, or by his userId.
    ///
    /// What was told of his posts is kept for those who come back to a stream; it names the posts alone.
    fileprivate func namings(of person: String, _ userID: String) async throws -> [String] {
        let columns = try await rows(
            """
            SELECT table_name || '.' || column_name AS row FROM information_schema.columns
            WHERE table_schema = current_schema() AND table_name NOT IN ('blobs', 'changes', 'noted_changes')
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
