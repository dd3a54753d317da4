import Foundation
import HTTPTypes
import PhotosAPI
import Postgres
import TestSupport
import Testing
import Wire

@Suite("Profile pictures") struct ProfilePictureTests {
    @Test("A profile picture is shown everywhere, and replacing or clearing it removes its files")
    func replacement() async throws {
        try await withUploads { fixture async throws in
            let image = try await fixture.ann.uploaded(SampleImage.png(seed: 1))
            let post = try await fixture.ann.photos.post(PostDraft(text: "#hello", uploadIds: [image.uploadId]))
            _ = try await fixture.ann.photos.comment("first", on: post.postId)
            _ = try await fixture.ann.photos.like(post.postId)
            _ = try await fixture.bob.photos.follow("ann")
            _ = try await fixture.ann.photos.follow("bob")
            #expect(try await Self.pictures(of: "ann", seenBy: fixture.bob, post) == [nil])
            let without = fixture.blobs.count

            let first = try await fixture.ann.uploaded(SampleImage.png(seed: 2))
            let shown = try await fixture.ann.photos.update(ProfileChanges(profilePicture: .set(first.uploadId)))
            #expect(shown.profilePicture == first.thumbnailUrl)
            #expect(try await Self.pictures(of: "ann", seenBy: fixture.bob, post) == [first.thumbnailUrl])
            #expect(try await fixture.bob.fetch(first.thumbnailUrl).status == 200)
            let withOne = fixture.blobs.count
            #expect(withOne > without)

            let second = try await fixture.ann.uploaded(SampleImage.png(seed: 3))
            _ = try await fixture.ann.photos.update(ProfileChanges(profilePicture: .set(second.uploadId)))
            #expect(try await Self.pictures(of: "ann", seenBy: fixture.bob, post) == [second.thumbnailUrl])
            try await fixture.waitForCleanup()
            #expect(fixture.blobs.count == withOne)
            for url in [first.url, first.thumbnailUrl] { #expect(try await fixture.bob.fetch(url).status == 404) }
            #expect(try await fixture.bob.fetch(second.thumbnailUrl).status == 200)

            // An upload that is a profile picture can be used neither for a post nor by another user.
            let used = try await fixture.ann.ask(.post, "/photos/posts", #"{"uploadIds": ["\#(second.uploadId)"]}"#)
            #expect(used.status == 409, "\(used.text)")
            let others = #"{"profilePicture": "\#(second.uploadId)"}"#
            #expect(try await fixture.bob.ask(.patch, "/photos/me", others).status == 404)

            #expect(try await fixture.ann.photos.update(ProfileChanges(profilePicture: .cleared)).profilePicture == nil)
            #expect(try await Self.pictures(of: "ann", seenBy: fixture.bob, post) == [nil])
            try await fixture.waitForCleanup()
            #expect(fixture.blobs.count == without)
            #expect(try await fixture.bob.fetch(post.images[0].url).status == 200)
        }
    }

    /// Returns the profile pictures of a user in every response that contains the user.
    private static func pictures(of name: String, seenBy viewer: TestUser, _ post: Post) async throws -> Set<String?> {
        let id = post.postId
        let places = [
            "/photos/people/\(name)", "/photos/people?query=\(name)", "/photos/people/\(viewer.id.user)/followers",
            "/photos/people/\(viewer.id.user)/following", "/photos/people/\(name)/posts", "/photos/posts",
            "/photos/posts/\(id)", "/photos/posts/\(id)/comments", "/photos/posts/\(id)/likes", "/photos/home",
            "/photos/hashtags/hello",
        ]
        var seen: Set<String?> = []
        for place in places {
            let response = try await viewer.ask(.get, place)
            let people = Self.people(called: name, in: response.json)
            #expect(response.status == 200, "\(place): \(response.text)")
            #expect(!people.isEmpty, "\(place): \(response.text)")
            seen.formUnion(people.map { $0["profilePicture"]?.string })
        }
        return seen
    }

    /// Returns every object in a response that describes the user.
    private static func people(called name: String, in json: JSONValue) -> [[String: JSONValue]] {
        switch json {
        case .array(let values): values.flatMap { people(called: name, in: $0) }
        case .object(let object):
            (object["userId"]?.string == name && object["profilePicture"] != nil ? [object] : [])
                + object.values.flatMap { people(called: name, in: $0) }
        default: []
        }
    }
}
