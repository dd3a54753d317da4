import Foundation
import HTTPTypes
import PhotosAPI
import Postgres
import ServiceClient
import TestSupport
import Testing
import Wire

@Suite("Data export") struct ExportTests {
    @Test("An export contains the content of the user and nothing by other users")
    func content() async throws {
        try await withPhotos { fixture in
            let own = try await fixture.post("#mine", by: fixture.ann)
            let other = try await fixture.post("what others wrote", by: fixture.bob)
            try await fixture.ann.photos.follow("bob")
            try await fixture.eve.photos.follow("ann")
            try await fixture.ann.photos.like(other.postId)
            try await fixture.ann.photos.flag(other.postId)
            _ = try await fixture.ann.photos.comment("from ann", on: other.postId)
            _ = try await fixture.bob.photos.comment("from bob", on: own.postId)
            try await fixture.ann.photos.update(ProfileChanges(bio: .set("I am ann")))

            let auth = try fixture.service.peerClient("auth", callee: "photos")
            let files = try await ExportedFiles(of: fixture.ann.id, from: auth)

            #expect(
                files.names == [
                    "profile.json", "posts.json", "comments.json", "likes.json", "flags.json", "following.json",
                ]
            )
            let profile = files.json("profile.json")[0]
            #expect(profile["bio"].string == "I am ann")
            #expect(profile["followerCount"].int == 1)
            #expect(files.json("posts.json").array.map { $0["text"].string } == ["#mine"])
            #expect(files.json("comments.json").array.map { $0["text"].string } == ["from ann"])
            #expect(files.json("comments.json")[0]["postOf"].string == "bob")
            #expect(files.json("likes.json").array.count == 1)
            #expect(files.json("flags.json").array.count == 1)
            #expect(files.json("following.json").array.map { $0["userId"].string } == ["bob"])
            for foreign in ["from bob", "what others wrote", "eve"] { #expect(!files.text.contains(foreign)) }
        }
    }

    @Test("An export contains the uploaded images")
    func images() async throws {
        try await withUploads { fixture async throws in
            let first = try await fixture.ann.uploaded(SampleImage.png(seed: 1))
            _ = try await fixture.ann.uploaded(SampleImage.png(seed: 2))
            _ = try await fixture.bob.uploaded(SampleImage.png(seed: 3))
            let served = try await fixture.ann.fetch(first.url)
            let auth = try fixture.fixture.service.peerClient("auth", callee: "photos")

            let files = try await ExportedFiles(of: fixture.ann.id, from: auth)

            let images = files.names.filter { $0.hasPrefix("images/") }
            #expect(images.count == 2)
            #expect(files.packed == images)
            #expect(files.contents[images[0]] == served.body)
        }
    }

    @Test("An export contains every row of a long list")
    func paging() async throws {
        try await withPhotos { fixture in
            _ = try await fixture.post("first", by: fixture.ann)
            try await fixture.service.database.pool.run(
                """
                INSERT INTO posts (author_id, number, application_id, text, created_at)
                SELECT person_id, 1 + number, application_id, 'post ' || number, now()
                FROM people, generate_series(1, 1200) AS numbers (number) WHERE user_id = 'ann'
                """
            )
            try await fixture.service.database.pool.run(
                """
                INSERT INTO comments (author_id, number, comment_id, writer_id, text, created_at)
                SELECT author_id, number, comment, author_id, 'said', now()
                FROM posts, generate_series(1, 2) AS comments (comment)
                """
            )
            let auth = try fixture.service.peerClient("auth", callee: "photos")
            let files = try await ExportedFiles(of: fixture.ann.id, from: auth)
            let numbers = files.json("posts.json").array.compactMap { $0["number"].int }
            #expect(numbers == Array(1...1_201))
            #expect(files.json("comments.json").array.count == 2_402)
        }
    }

    @Test("An export of an unknown user is empty")
    func unknownUser() async throws {
        try await withPhotos { fixture in
            let auth = try fixture.service.peerClient("auth", callee: "photos")
            let unknownUser = User.ID(application: PhotosFixture.application, user: "nobody")
            #expect(try await ExportedFiles(of: unknownUser, from: auth).names.isEmpty)
        }
    }
}
