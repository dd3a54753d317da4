import AuthAPI
import ChildProcesses
import ConversationsAPI
import Foundation
import HTTPTypes
import PhotosAPI
import PushAPI
import ServiceClient
import TestSupport
import Testing
import Wire

/// The photos of two users, through the gateway and all services.
extension SuiteTests {
    @Suite("Photos across services") struct PhotoTests {
        private static let phone = String(repeating: "a1", count: 32)

        @Test("A post, a like and a comment reach the follower's stream and the author's phone")
        func activity() async throws {
            try await FakePhones.with(settings: ["ACTIVITY_DIGEST_SECONDS": "0"]) { suite, phones in
                let ana = try await suite.person("ana")
                let bo = try await suite.person("bo")
                try await ana.preferences.register(
                    DeviceDraft(platform: "ios_production", token: Self.phone, deviceId: "phone")
                )
                _ = try await ana.photos.me()
                try await bo.photos.follow(ana.signIn.userId)
                let (port, stream, jwt) = (suite.gatewayPort, "/photos/home/stream", bo.signIn.jwt)
                try await EventStreamClient.with(port: port, stream, token: jwt, limit: .seconds(300)) { home in
                    #expect(await home.event()?.name == "ready")

                    let post = try await ana.publishPost("On the way #walk")
                    let new = try #require(await Self.nextEvent(home))
                    #expect(new.name == "new")
                    #expect(new.json["postId"].string == post.postId)
                    #expect(try await bo.photos.home().items.map(\.postId) == [post.postId])
                    #expect(try await bo.photos.posts(tagged: "walk").items.map(\.postId) == [post.postId])
                    try await bo.like(post.postId)
                    #expect(await Self.nextEvent(home)?.json["likeCount"].int == 1)
                    _ = try await bo.comment("Where is that?", about: post.postId)
                    #expect(await Self.nextEvent(home)?.json["commentCount"].int == 1)

                    let notifications = try await phones.waitForNotifications(3)
                    #expect(
                        Set(notifications.map(\.body)) == [
                            "bo is now following you", "bo liked your photo", "Where is that?",
                        ]
                    )
                    #expect(notifications.allSatisfy { $0.device == Self.phone })
                    try await ana.photos.delete(post.postId)
                    #expect(await Self.nextEvent(home)?.name == "deleted")
                }
            }
        }

        /// Returns the next event, except for the reload after a new follow.
        private static func nextEvent(_ stream: EventStreamClient) async -> EventStreamClient.Event? {
            while let event = await stream.event() { if event.name != "reload" { return event } }
            return nil
        }

        @Test("A served image is upright, scaled and free of metadata")
        func metadata() async throws {
            try await RunningSuite.with { suite in
                let ana = try await suite.person("ana")
                let post = try await ana.publishPost("Look!")
                let image = try #require(post.images.first)
                // Before its rotation the image has 1,200 by 800 pixels.
                #expect((image.width, image.height) == (800, 1_200))
                for (url, limit) in [(image.url, 1_280), (image.thumbnailUrl, 640)] {
                    // The link needs no authentication.
                    let path = String(
                        url.dropFirst(try #require(url.range(of: "/media/")).lowerBound.utf16Offset(in: url))
                    )
                    let response = try await suite.gateway().send(.get, path)
                    #expect(response.headers[.contentType] == "image/jpeg")
                    #expect(response.body.count > 1_000)
                    let file = "\(suite.directory)/served.jpg"
                    try response.body.write(to: URL(filePath: file))
                    let arguments = ["-s", "-s", "-G1", file]
                    let command = ProcessCommand("exiftool", arguments, environment: suite.environment)
                    let (status, output) = try await command.run(within: .seconds(20))
                    #expect(status.isSuccess, "\(output)")
                    #expect(!output.contains("GPS"), "\(output)")
                    #expect(!output.contains("camera"), "\(output)")
                    #expect(!output.contains("0815"), "\(output)")
                    let sizes = output.matches(of: #/Image(?:Width|Height): (\d+)/#).compactMap { Int($0.1) }
                    try #require(sizes.count == 2, "\(sizes)")
                    #expect(sizes[0] < sizes[1])
                    #expect(sizes[1] <= limit)
                }
            }
        }

        @Test("A new name and a block take effect in photos")
        func nameAndBlock() async throws {
            try await RunningSuite.with { suite in
                let ana = try await suite.person("ana")
                let bo = try await suite.person("bo")
                _ = try await bo.photos.me()
                let post = try await ana.publishPost("Look!")
                func isSeen() async throws -> Bool {
                    do {
                        _ = try await bo.photos.post(post.postId)
                        return true
                    } catch let error as APIError where error.kind == .notFound {
                        return false
                    }
                }
                #expect(try await isSeen())

                let _: Account = try await ana.service.patch("/auth/me", ["fullName": "Ana Lima"])
                try await eventually(within: SuiteTests.promptLimit, "name changed") {
                    try await bo.photos.post(post.postId).author.fullName == "Ana Lima"
                }
                try await ana.conversations.block(bo.signIn.userId)
                try await eventually(within: SuiteTests.promptLimit, "hidden") { try await !isSeen() }
                try await ana.conversations.unblock(bo.signIn.userId)
                try await eventually(within: SuiteTests.promptLimit, "visible again") { try await isSeen() }
            }
        }
    }
}
