import AuthAPI
import ChildProcesses
import Foundation
import HTTPTypes
import PhotosAPI
import Postgres
import TestSupport
import Testing
import Wire

@Suite("Import of pictures from the sign-in provider") struct AvatarImportTests {
    @Test("The provider's picture becomes the profile picture at the first visit")
    func importsPicture() async throws {
        try await Self.withPictureServer { fixture, pictureURL in
            let ana = try await fixture.fixture.account("Ana")
            try await Self.reportPicture(of: ana, at: pictureURL, in: fixture)
            // The user has not used photos yet.
            #expect(try await fixture.count("avatar_imports", where: "due_at = 'infinity'") == 1)

            try await eventually { try await Self.picture(of: ana) != nil }
            #expect(try await fixture.bob.fetch(try #require(try await Self.picture(of: ana))).status == 200)
            try await eventually { try await fixture.count("avatar_imports") == 0 }
        }
    }

    @Test("A profile picture that the user chose is not replaced")
    func existingPicture() async throws {
        try await Self.withPictureServer { fixture, pictureURL in
            let own = try await fixture.ann.uploaded(SampleImage.png(seed: 9))
            _ = try await fixture.ann.photos.update(ProfileChanges(profilePicture: .set(own.uploadId)))
            try await Self.reportPicture(of: fixture.ann, at: pictureURL, in: fixture)
            #expect(try await fixture.count("avatar_imports") == 0)
            #expect(try await Self.picture(of: fixture.ann) == own.thumbnailUrl)
        }
    }

    @Test("A changed name or picture is published with the whole profile")
    func published() async throws {
        let settings = ["EVENT_SUBSCRIBERS": "profile.changed=conversations"]
        try await Self.withPictureServer(settings: settings) { fixture, pictureURL in
            let own = try await fixture.ann.uploaded(SampleImage.png(seed: 9))
            try await fixture.ann.photos.update(ProfileChanges(fullName: "Ann Lee"))
            try await fixture.ann.photos.update(ProfileChanges(bio: .set("Paints.")))
            try await fixture.ann.photos.update(ProfileChanges(profilePicture: .set(own.uploadId)))
            try await fixture.ann.photos.update(ProfileChanges(profilePicture: .cleared))
            try await Self.reportPicture(of: fixture.bob, at: pictureURL, in: fixture)
            try await eventually { try await Self.picture(of: fixture.bob) != nil }

            let published = try await fixture.fixture.service.database.pool.all(
                """
                SELECT content FROM event_outbox
                WHERE type = 'profile.changed' AND subscriber = 'conversations' ORDER BY outbox_id
                """,
                as: { row in
                    try WireJSON.decoder().decode(JSONValue.self, from: Data(try row.string("content").utf8))
                }
            )
            #expect(published.map { $0["userId"].string } == ["ann", "ann", "ann", "bob"])
            #expect(published.map { $0["fullName"].string } == ["Ann Lee", "Ann Lee", "Ann Lee", "Ana"])
            let paths = published.map { $0["avatarPath"].string }
            #expect(paths[0] == nil && paths[2] == nil)
            let path = try #require(paths[1])
            #expect(own.thumbnailUrl.hasSuffix(path))
            #expect(paths[3]?.hasPrefix("/media/") == true)
        }
    }

    @Test("A URL without an image is dropped")
    func invalidPicture() async throws {
        try await Self.withPictureServer { fixture, pictureURL in
            let host = pictureURL.prefix { $0 != "?" }.split(separator: "/").prefix(2).joined(separator: "//")
            for path in ["/health", "/media/nothing"] {
                let ana = try await fixture.fixture.account("Ana")
                #expect(try await Self.picture(of: ana) == nil)
                try await Self.reportPicture(of: ana, at: host + path, in: fixture)
                try await eventually { try await fixture.count("avatar_imports") == 0 }
                #expect(try await Self.picture(of: ana) == nil)
            }
        }
    }

    @Test(
        "A URL with a private address or without HTTPS is not fetched",
        arguments: [
            "http://127.0.0.1:1/a.png", "http://169.254.169.254/latest", "https://localhost/a.png",
            "file:///etc/passwd",
            "https://10.0.0.1/a.png", "http://example.org/a.png", "nowhere", "https://[::1]/a.png",
        ]
    )
    func privateAddresses(_ url: String) async throws {
        try await withUploads { fixture in
            try await Self.reportPicture(of: fixture.ann, at: url, in: fixture)
            #expect(try await fixture.count("avatar_imports") == 0)
        }
    }

    @Test("Account deletion cancels the import")
    func deletedUser() async throws {
        try await Self.withPictureServer { fixture, pictureURL in
            let ana = try await fixture.fixture.account("Ana")
            try await Self.reportPicture(of: ana, at: pictureURL, in: fixture)
            try await fixture.fixture.deliver(UserDeleted(applicationId: "roost", userId: ana.id.user), by: "auth")
            #expect(try await fixture.count("avatar_imports") == 0)
        }
    }

    private static func picture(of testUser: TestUser) async throws -> String? {
        try await testUser.ask(.get, "/photos/me").json["profilePicture"].string
    }

    private static func reportPicture(of testUser: TestUser, at url: String, in fixture: UploadFixture) async throws {
        let changed = UserChanged(
            applicationId: testUser.id.application,
            userId: testUser.id.user,
            username: nil,
            fullName: "Ana",
            pictureUrl: url
        )
        try await fixture.fixture.deliver(changed, by: "auth")
    }

    /// Serves a picture at a local port that the operator's settings allow.
    private static func withPictureServer(
        settings: [String: String] = [:],
        _ body: @Sendable @escaping (UploadFixture, _ pictureURL: String) async throws -> Void
    ) async throws {
        let port = try LoopbackPort.free().number
        let allowed = ["ALLOWED_PRIVATE_HOSTS": "127.0.0.1:\(port)"]
        try await withUploads(settings: settings.merging(allowed) { $1 }) { fixture in
            let image = try await fixture.bob.uploaded(SampleImage.png(seed: 7))
            let path = URLComponents(string: image.url)?.path ?? ""
            try await fixture.fixture.service.served(on: port) { _ in
                try await body(fixture, "http://127.0.0.1:\(port)\(path)")
            }
        }
    }
}
