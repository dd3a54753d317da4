import Foundation
import HTTPTypes
import PhotosAPI
import TestSupport
import Testing
import Wire

/// Who may do what to a post of Ann's with a comment of Bob's.
@Suite struct WhoMayTests {
    /// A route, and what each is answered: Ann, whose post it is; Bob, who wrote the comment; Eve, a stranger; Dan, whom
    /// Ann has blocked; Cat, who has blocked Ann.
    struct Try: Sendable, CustomTestStringConvertible {
        let method: HTTPRequest.Method
        let path: String
        var body: String?
        let answers: [String: Int]

        init(
            _ method: HTTPRequest.Method,
            _ path: String,
            _ body: String? = nil,
            ann: Int,
            bob: Int,
            eve: Int
        ) {
            self.method = method
            self.path = path
            self.body = body
            answers = ["ann": ann, "bob": bob, "eve": eve, "dan": 404, "cat": 404]
        }

        var testDescription: String { "\(method) \(path)" }
    }

    static let tries = [
        Try(.get, "/photos/posts/{post}", ann: 200, bob: 200, eve: 200),
        Try(.get, "/photos/posts/{post}/likes", ann: 200, bob: 200, eve: 200),
        Try(.get, "/photos/posts/{post}/comments", ann: 200, bob: 200, eve: 200),
        Try(.get, "/photos/people/ann/posts", ann: 200, bob: 200, eve: 200),
        Try(.put, "/photos/posts/{post}/like", ann: 200, bob: 200, eve: 200),
        Try(.delete, "/photos/posts/{post}/like", ann: 200, bob: 200, eve: 200),
        Try(.post, "/photos/posts/{post}/comments", #"{"text": "hi"}"#, ann: 200, bob: 200, eve: 200),
        Try(.put, "/photos/posts/{post}/flag", ann: 422, bob: 200, eve: 200),
        Try(.put, "/photos/posts/{post}/comments/{comment}/flag", ann: 200, bob: 422, eve: 200),
        Try(.patch, "/photos/posts/{post}", #"{"text": "edited"}"#, ann: 200, bob: 403, eve: 403),
        Try(.patch, "/photos/posts/{post}/comments/{comment}", #"{"text": "no"}"#, ann: 403, bob: 200, eve: 403),
        // Who may not, may not at all: the comment is there until Ann takes it away.
        Try(.delete, "/photos/posts/{post}/comments/{comment}", ann: 200, bob: 404, eve: 404),
    ]

    @Test func whoMayIsAnsweredAndWhoMayNotChangesNothing() async throws {
        try await withPhotos { scene in
            let (post, comment) = try await posted(in: scene)
            let others = try await apart(in: scene)
            let outsider = try await scene.account("Zoe")
            for item in Self.tries {
                let path = Self.path(item.path, post, comment)
                #expect(try await scene.service.send(item.method, path, body: item.body).status == 403, "\(path)")
                let outside = try await outsider.ask(item.method, path, item.body)
                #expect(outside.status == 404, "\(item.method) \(path) of another application: \(outside.text)")
                for player in others + [scene.ann, scene.bob, scene.eve] {
                    let answer = try await player.ask(item.method, path, item.body)
                    let name = player.id.user
                    #expect(answer.status == item.answers[name], "\(item.method) \(path) \(name): \(answer.text)")
                }
            }
            #expect(try await scene.miscounted() == [])
        }
    }

    @Test func aStrangerDeletesNothing() async throws {
        try await withPhotos { scene in
            let (post, comment) = try await posted(in: scene)
            let others = try await apart(in: scene)
            let outsider = try await scene.account("Zoe")
            let refused = [(scene.eve, 403), (others[0], 404), (others[1], 404), (outsider, 404)]
            for (player, status) in refused + [(scene.bob, 403)] {
                #expect(try await player.ask(.delete, "/photos/posts/\(post)").status == status, "\(player.id)")
            }
            for (player, status) in refused {
                let path = "/photos/posts/\(post)/comments/\(comment)"
                #expect(try await player.ask(.delete, path).status == status, "\(player.id)")
            }
            #expect(try await scene.ann.photos.post(post).commentCount == 1)
        }
    }

    @Test func aPostsAuthorRemovesWhatSomebodyWroteWhomSheHasBlocked() async throws {
        try await withPhotos { scene in
            let (post, comment) = try await posted(in: scene)
            try await scene.block(scene.bob, by: scene.ann)
            #expect(try await scene.eve.photos.comments(on: post).things.count == 1)
            try await scene.ann.photos.delete(comment, on: post)
            #expect(try await scene.eve.photos.comments(on: post).things == [])
        }
    }

    @Test func moderationIsForAdministratorsOfRoostAndForTheServersOfOthers() async throws {
        try await withPhotos { scene in
            let (post, _) = try await posted(in: scene)
            let admin = try await scene.account("Root", scope: "admin")
            let pretender = try await scene.player("root", scope: "admin")
            for (method, path) in [
                (.get, "/photos/flags"), (.put, "/photos/posts/\(post)/hidden"),
                (.delete, "/photos/posts/\(post)/hidden"),
            ] as [(HTTPRequest.Method, String)] {
                for player in [scene.ann, scene.eve, pretender] {
                    #expect(try await player.ask(method, path).status == 403, "\(path) \(player.id)")
                }
                #expect(try await scene.service.send(method, path).status == 403)
                // Roost's administrators have nothing to do with another application's people.
                let answer = try await admin.ask(method, path)
                #expect(answer.status == (method == .get ? 200 : 404), "\(path): \(answer.text)")
            }
            #expect(try await scene.eve.photos.post(post).hiddenAt == nil)
        }
    }

    /// A post of Ann's with a comment of Bob's.
    private func posted(in scene: Scene) async throws -> (post: String, comment: String) {
        let post = try await scene.post("hello", by: scene.ann).postId
        return (post, try await scene.bob.photos.comment("hi", on: post).commentId)
    }

    /// Dan, whom Ann has blocked, and Cat, who has blocked Ann.
    private func apart(in scene: Scene) async throws -> [Player] {
        let (dan, cat) = (try await scene.player("dan"), try await scene.player("cat"))
        try await scene.block(dan, by: scene.ann)
        try await scene.block(scene.ann, by: cat)
        return [dan, cat]
    }

    private static func path(_ template: String, _ post: String, _ comment: String) -> String {
        template.replacingOccurrences(of: "{post}", with: post).replacingOccurrences(of: "{comment}", with: comment)
    }
}
