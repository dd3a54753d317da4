import Foundation
import HTTPTypes
import PhotosAPI
import TestSupport
import Testing
import Wire

/// Every action on a post of Ana with a comment of Bo, by every role.
@Suite("Authorization matrix") struct AuthorizationMatrixTests {
    /// Ana is the author of the post, Bo the author of the comment, and Eve a stranger.
    ///
    /// Ana has blocked Dan, and Cat has blocked Ana. The outsider is a user of another application.
    enum Role: CaseIterable, Sendable { case ana, bo, eve, dan, cat, outsider, anonymous }

    private static func route(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ body: String? = nil,
        ana: Int,
        bo: Int,
        eve: Int
    ) -> AuthorizationMatrix<Role>.Route {
        AuthorizationMatrix.Route(
            method,
            path,
            body,
            statuses: [.ana: ana, .bo: bo, .eve: eve, .anonymous: 403],
            others: 404
        )
    }

    static let routes = [
        route(.get, "/photos/posts/{post}", ana: 200, bo: 200, eve: 200),
        route(.get, "/photos/posts/{post}/likes", ana: 200, bo: 200, eve: 200),
        route(.get, "/photos/posts/{post}/comments", ana: 200, bo: 200, eve: 200),
        route(.get, "/photos/people/ann/posts", ana: 200, bo: 200, eve: 200),
        route(.put, "/photos/posts/{post}/like", ana: 200, bo: 200, eve: 200),
        route(.delete, "/photos/posts/{post}/like", ana: 200, bo: 200, eve: 200),
        route(.post, "/photos/posts/{post}/comments", #"{"text": "hi"}"#, ana: 200, bo: 200, eve: 200),
        route(.put, "/photos/posts/{post}/flag", ana: 422, bo: 200, eve: 200),
        route(.put, "/photos/posts/{post}/comments/{comment}/flag", ana: 200, bo: 422, eve: 200),
        route(.patch, "/photos/posts/{post}", #"{"text": "edited"}"#, ana: 200, bo: 403, eve: 403),
        route(.patch, "/photos/posts/{post}/comments/{comment}", #"{"text": "no"}"#, ana: 403, bo: 200, eve: 403),
        // This case is last, because Ana deletes the comment and every later request gets 404.
        route(.delete, "/photos/posts/{post}/comments/{comment}", ana: 200, bo: 404, eve: 404),
    ]

    @Test("A route responds to each user with its status")
    func matrix() async throws {
        try await withPhotos { fixture in
            let (post, comment) = try await posted(in: fixture)
            let blocked = try await blockedUsers(in: fixture)
            let users: [(Role, TestUser?)] = [
                (.anonymous, nil), (.outsider, try await fixture.account("Zoe")), (.dan, blocked[0]),
                (.cat, blocked[1]),
                (.ana, fixture.ann), (.bo, fixture.bob), (.eve, fixture.eve),
            ]
            for route in Self.routes {
                for (role, user) in users {
                    try await route.expectStatus(for: role, values: ["post": post, "comment": comment]) {
                        guard let user else { return try await fixture.service.send($0, $1, body: $2) }
                        return try await user.ask($0, $1, $2)
                    }
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
}
