import Foundation
import HTTPTypes
import PhotosAPI
import TestSupport
import Testing
import Wire

/// Every action on a post of Ana with a comment of Bo, by every role.
@Suite("Authorization matrix") struct AuthorizationMatrixTests {
    /// A route and its status for each user.
    ///
    /// Ana is the author of the post, Bo the author of the comment, and Eve a stranger. Ana has blocked Dan, and Cat has
    /// blocked Ana.
    struct AccessCase: Sendable, CustomTestStringConvertible {
        let method: HTTPRequest.Method
        let path: String
        var body: String?
        let statuses: [String: Int]

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
            statuses = ["ann": ann, "bob": bob, "eve": eve, "dan": 404, "cat": 404]
        }

        var testDescription: String { "\(method) \(path)" }
    }

    static let cases = [
        AccessCase(.get, "/photos/posts/{post}", ann: 200, bob: 200, eve: 200),
        AccessCase(.get, "/photos/posts/{post}/likes", ann: 200, bob: 200, eve: 200),
        AccessCase(.get, "/photos/posts/{post}/comments", ann: 200, bob: 200, eve: 200),
        AccessCase(.get, "/photos/people/ann/posts", ann: 200, bob: 200, eve: 200),
        AccessCase(.put, "/photos/posts/{post}/like", ann: 200, bob: 200, eve: 200),
        AccessCase(.delete, "/photos/posts/{post}/like", ann: 200, bob: 200, eve: 200),
        AccessCase(.post, "/photos/posts/{post}/comments", #"{"text": "hi"}"#, ann: 200, bob: 200, eve: 200),
        AccessCase(.put, "/photos/posts/{post}/flag", ann: 422, bob: 200, eve: 200),
        AccessCase(.put, "/photos/posts/{post}/comments/{comment}/flag", ann: 200, bob: 422, eve: 200),
        AccessCase(.patch, "/photos/posts/{post}", #"{"text": "edited"}"#, ann: 200, bob: 403, eve: 403),
        AccessCase(.patch, "/photos/posts/{post}/comments/{comment}", #"{"text": "no"}"#, ann: 403, bob: 200, eve: 403),
        // This case is last, because Ana deletes the comment and every later request gets 404.
        AccessCase(.delete, "/photos/posts/{post}/comments/{comment}", ann: 200, bob: 404, eve: 404),
    ]

    @Test("A route responds to each user with its status")
    func matrix() async throws {
        try await withPhotos { fixture in
            let (post, comment) = try await posted(in: fixture)
            let others = try await blockedUsers(in: fixture)
            let outsider = try await fixture.account("Zoe")
            for item in Self.cases {
                let path = Self.path(item.path, post, comment)
                #expect(try await fixture.service.send(item.method, path, body: item.body).status == 403, "\(path)")
                let outside = try await outsider.ask(item.method, path, item.body)
                #expect(outside.status == 404, "\(item.method) \(path) of another application: \(outside.text)")
                for testUser in others + [fixture.ann, fixture.bob, fixture.eve] {
                    let response = try await testUser.ask(item.method, path, item.body)
                    let name = testUser.id.user
                    #expect(response.status == item.statuses[name], "\(item.method) \(path) \(name): \(response.text)")
                }
            }
            #expect(try await fixture.countInconsistencies() == [])
        }
    }

    @Test("Only the author can delete a post, and strangers cannot delete a comment")
    func strangerDeletes() async throws {
        try await withPhotos { fixture in
            let (post, comment) = try await posted(in: fixture)
            let others = try await blockedUsers(in: fixture)
            let outsider = try await fixture.account("Zoe")
            let refused = [(fixture.eve, 403), (others[0], 404), (others[1], 404), (outsider, 404)]
            for (testUser, status) in refused + [(fixture.bob, 403)] {
                #expect(try await testUser.ask(.delete, "/photos/posts/\(post)").status == status, "\(testUser.id)")
            }
            for (testUser, status) in refused {
                let path = "/photos/posts/\(post)/comments/\(comment)"
                #expect(try await testUser.ask(.delete, path).status == status, "\(testUser.id)")
            }
            #expect(try await fixture.ann.photos.post(post).commentCount == 1)
        }
    }

    @Test("The author of a post can delete a comment of a blocked user")
    func commentOfBlockedUser() async throws {
        try await withPhotos { fixture in
            let (post, comment) = try await posted(in: fixture)
            try await fixture.block(fixture.bob, by: fixture.ann)
            #expect(try await fixture.eve.photos.comments(on: post).items.count == 1)
            try await fixture.ann.photos.delete(comment, on: post)
            #expect(try await fixture.eve.photos.comments(on: post).items == [])
        }
    }

    @Test("Only administrators can moderate, and only posts of their own application")
    func moderation() async throws {
        try await withPhotos { fixture in
            let (post, _) = try await posted(in: fixture)
            let admin = try await fixture.account("Root", scope: "admin")
            let pretender = try await fixture.testUser("root", scope: "admin")
            for (method, path) in [
                (.get, "/photos/flags"), (.put, "/photos/posts/\(post)/hidden"),
                (.delete, "/photos/posts/\(post)/hidden"),
            ] as [(HTTPRequest.Method, String)] {
                for testUser in [fixture.ann, fixture.eve, pretender] {
                    #expect(try await testUser.ask(method, path).status == 403, "\(path) \(testUser.id)")
                }
                #expect(try await fixture.service.send(method, path).status == 403)
                // Administrators of Roost cannot moderate other applications.
                let response = try await admin.ask(method, path)
                #expect(response.status == (method == .get ? 200 : 404), "\(path): \(response.text)")
            }
            #expect(try await fixture.eve.photos.post(post).hiddenAt == nil)
        }
    }

    /// Creates a post of Ana with a comment of Bo.
    private func posted(in fixture: PhotosFixture) async throws -> (post: String, comment: String) {
        let post = try await fixture.post("hello", by: fixture.ann).postId
        return (post, try await fixture.bob.photos.comment("hi", on: post).commentId)
    }

    /// Returns Dan, blocked by Ana, and Cat, who has blocked Ana.
    private func blockedUsers(in fixture: PhotosFixture) async throws -> [TestUser] {
        let (dan, cat) = (try await fixture.testUser("dan"), try await fixture.testUser("cat"))
        try await fixture.block(dan, by: fixture.ann)
        try await fixture.block(fixture.ann, by: cat)
        return [dan, cat]
    }

    private static func path(_ template: String, _ post: String, _ comment: String) -> String {
        template.replacingOccurrences(of: "{post}", with: post).replacingOccurrences(of: "{comment}", with: comment)
    }
}
