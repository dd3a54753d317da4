import AuthAPI
import ChildProcesses
import Foundation
import HTTPTypes
import PhotosAPI
import Postgres
import TestSupport
import Testing
import Wire

/// Pictures that people have where they sign in, and bring along.
@Suite struct BroughtPictureTests {
    @Test func aPictureIsBroughtForWhoHasNone() async throws {
        try await Self.withPlace { scene, place in
            let ana = try await scene.scene.account("Ana")
            try await Self.tell(of: ana, at: place, in: scene)
            // He has not been here.
            #expect(try await scene.count("pictures_to_bring", where: "due_at = 'infinity'") == 1)

            try await eventually { try await Self.picture(of: ana) != nil }
            #expect(try await scene.bob.fetch(try #require(try await Self.picture(of: ana))).status == 200)
            try await eventually { try await scene.count("pictures_to_bring") == 0 }
        }
    }

    @Test func whoHasChosenOneKeepsIt() async throws {
        try await Self.withPlace { scene, place in
            let own = try await scene.ann.uploaded(SampleImage.png(seed: 9))
            _ = try await scene.ann.photos.change(ProfileChanges(profilePicture: .set(own.uploadId)))
            try await Self.tell(of: scene.ann, at: place, in: scene)
            #expect(try await scene.count("pictures_to_bring") == 0)
            #expect(try await Self.picture(of: scene.ann) == own.thumbnailUrl)
        }
    }

    @Test("A changed name or picture is published with the whole profile")
    func published() async throws {
        let settings = ["EVENT_SUBSCRIBERS": "profile.changed=conversations"]
        try await Self.withPlace(settings: settings) { scene, place in
            let own = try await scene.ann.uploaded(SampleImage.png(seed: 9))
            try await scene.ann.photos.change(ProfileChanges(fullName: "Ann Lee"))
            try await scene.ann.photos.change(ProfileChanges(bio: .set("Paints.")))
            try await scene.ann.photos.change(ProfileChanges(profilePicture: .set(own.uploadId)))
            try await scene.ann.photos.change(ProfileChanges(profilePicture: .cleared))
            try await Self.tell(of: scene.bob, at: place, in: scene)
            try await eventually { try await Self.picture(of: scene.bob) != nil }

            let published = try await scene.scene.service.database.pool.all(
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

    @Test func whatIsNoPictureIsGivenUp() async throws {
        try await Self.withPlace { scene, place in
            let host = place.prefix { $0 != "?" }.split(separator: "/").prefix(2).joined(separator: "//")
            for path in ["/health", "/media/nothing"] {
                let ana = try await scene.scene.account("Ana")
                #expect(try await Self.picture(of: ana) == nil)
                try await Self.tell(of: ana, at: host + path, in: scene)
                try await eventually { try await scene.count("pictures_to_bring") == 0 }
                #expect(try await Self.picture(of: ana) == nil)
            }
        }
    }

    @Test(arguments: [
        "http://127.0.0.1:1/a.png", "http://169.254.169.254/latest", "https://localhost/a.png", "file:///etc/passwd",
        "https://10.0.0.1/a.png", "http://example.org/a.png", "nowhere", "https://[::1]/a.png",
    ])
    func nobodyIsAskedWhoIsNotPublic(_ url: String) async throws {
        try await withUploads { scene in
            try await Self.tell(of: scene.ann, at: url, in: scene)
            #expect(try await scene.count("pictures_to_bring") == 0)
        }
    }

    @Test func ofWhoIsDeletedNothingIsBrought() async throws {
        try await Self.withPlace { scene, place in
            let ana = try await scene.scene.account("Ana")
            try await Self.tell(of: ana, at: place, in: scene)
            try await scene.scene.tell(UserDeleted(applicationId: "roost", userId: ana.id.user), by: "auth")
            #expect(try await scene.count("pictures_to_bring") == 0)
        }
    }

    private static func picture(of player: Player) async throws -> String? {
        try await player.ask(.get, "/photos/me").json["profilePicture"].string
    }

    private static func tell(of player: Player, at url: String, in scene: UploadScene) async throws {
        let changed = UserChanged(
            applicationId: player.id.application,
            userId: player.id.user,
            username: nil,
            fullName: "Ana",
            pictureUrl: url
        )
        try await scene.scene.tell(changed, by: "auth")
    }

    /// Somewhere that a picture is to be had: the service's own, served at a port that the operator allows.
    private static func withPlace(
        settings: [String: String] = [:],
        _ body: @Sendable @escaping (UploadScene, _ place: String) async throws -> Void
    ) async throws {
        let port = try LoopbackPort.free().number
        let allowed = ["ALLOWED_PRIVATE_HOSTS": "127.0.0.1:\(port)"]
        try await withUploads(settings: settings.merging(allowed) { $1 }) { scene in
            let image = try await scene.bob.uploaded(SampleImage.png(seed: 7))
            let path = URLComponents(string: image.url)?.path ?? ""
            try await scene.scene.service.served(on: port) { _ in
                try await body(scene, "http://127.0.0.1:\(port)\(path)")
            }
        }
    }
}
