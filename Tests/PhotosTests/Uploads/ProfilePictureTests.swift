import Foundation
import HTTPTypes
import PhotosAPI
import Postgres
import TestSupport
import Testing
import Wire

/// A picture that somebody has uploaded and made his own, and where others see it.
@Suite struct ProfilePictureTests {
    @Test func aPictureIsShownEverywhereAndTheFormerOneGoes() async throws {
        try await withUploads { scene async throws in
            let image = try await scene.ann.uploaded(SampleImage.png(seed: 1))
            let post = try await scene.ann.photos.post(PostDraft(text: "#hello", uploadIds: [image.uploadId]))
            _ = try await scene.ann.photos.comment("first", on: post.postId)
            _ = try await scene.ann.photos.like(post.postId)
            _ = try await scene.bob.photos.follow("ann")
            _ = try await scene.ann.photos.follow("bob")
            #expect(try await Self.pictures(of: "ann", seenBy: scene.bob, post) == [nil])
            let without = scene.blobs.count

            let first = try await scene.ann.uploaded(SampleImage.png(seed: 2))
            let shown = try await scene.ann.photos.change(ProfileChanges(profilePicture: .set(first.uploadId)))
            #expect(shown.profilePicture == first.thumbnailUrl)
            #expect(try await Self.pictures(of: "ann", seenBy: scene.bob, post) == [first.thumbnailUrl])
            #expect(try await scene.bob.fetch(first.thumbnailUrl).status == 200)
            let withOne = scene.blobs.count
            #expect(withOne > without)

            let second = try await scene.ann.uploaded(SampleImage.png(seed: 3))
            _ = try await scene.ann.photos.change(ProfileChanges(profilePicture: .set(second.uploadId)))
            #expect(try await Self.pictures(of: "ann", seenBy: scene.bob, post) == [second.thumbnailUrl])
            try await scene.sweep()
            #expect(scene.blobs.count == withOne)
            for url in [first.url, first.thumbnailUrl] { #expect(try await scene.bob.fetch(url).status == 404) }
            #expect(try await scene.bob.fetch(second.thumbnailUrl).status == 200)

            // What is somebody's picture serves no post, and is the picture of nobody else.
            let used = try await scene.ann.ask(.post, "/photos/posts", #"{"uploadIds": ["\#(second.uploadId)"]}"#)
            #expect(used.status == 409, "\(used.text)")
            let others = #"{"profilePicture": "\#(second.uploadId)"}"#
            #expect(try await scene.bob.ask(.patch, "/photos/me", others).status == 404)

            #expect(try await scene.ann.photos.change(ProfileChanges(profilePicture: .cleared)).profilePicture == nil)
            #expect(try await Self.pictures(of: "ann", seenBy: scene.bob, post) == [nil])
            try await scene.sweep()
            #expect(scene.blobs.count == without)
            #expect(try await scene.bob.fetch(post.images[0].url).status == 200)
        }
    }

    /// What somebody is seen with wherever he is seen.
    private static func pictures(of name: String, seenBy viewer: Player, _ post: Post) async throws -> Set<String?> {
        let id = post.postId
        let places = [
            "/photos/people/\(name)", "/photos/people?query=\(name)", "/photos/people/\(viewer.id.user)/followers",
            "/photos/people/\(viewer.id.user)/following", "/photos/people/\(name)/posts", "/photos/posts",
            "/photos/posts/\(id)", "/photos/posts/\(id)/comments", "/photos/posts/\(id)/likes", "/photos/home",
            "/photos/hashtags/hello",
        ]
        var seen: Set<String?> = []
        for place in places {
            let answer = try await viewer.ask(.get, place)
            let people = Self.people(called: name, in: answer.json)
            #expect(answer.status == 200 && !people.isEmpty, "\(place): \(answer.text)")
            seen.formUnion(people.map { $0["profilePicture"]?.string })
        }
        return seen
    }

    /// Every object in an answer that is somebody.
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
