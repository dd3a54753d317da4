import AuthAPI
import ConversationsAPI
import Foundation
import HTTPTypes
import LocalPostgres
import Logging
import PhotosAPI
import Postgres
import PushAPI
import ServiceClient
import TestSupport
import Testing
import Wire

extension SuiteTests {
    @Suite("Account deletion and export") struct AccountDeletionTests {
        @Test("A deleted account leaves nothing in any table or file, and other users keep their data")
        func deletion() async throws {
            try await Self.withDatabase { suite, database in
                let deletedUser = try await suite.person("hermengilde")
                let bo = try await suite.person("bo")
                let created = try await Self.createData(deletedUser, with: bo)
                let needles = [
                    deletedUser.signIn.userId, "hermengilde", "Von der Tann", "phone-of-hers", created.token,
                    created.file,
                ]
                #expect(try await LeftoverData.inTables(of: Self.schemas, containing: needles, database).count > 10)
                #expect(
                    try !LeftoverData.inFiles(below: "\(suite.directory)/.roost/blobs", containing: needles).isEmpty
                )

                let deletion = try await deletedUser.service.send(
                    .delete,
                    "/auth/me",
                    body: try WireJSON.encoder().encode(AccountDeletion(password: "a password of hermengilde")),
                    timeout: .seconds(20)
                )
                #expect(deletion.status == 202)
                try await eventually(within: SuiteTests.promptLimit, "signed out everywhere") {
                    do {
                        _ = try await deletedUser.preferences.devices()
                        return false
                    } catch let error as APIError {
                        return error.kind == .forbidden
                    }
                }

                try await eventually(within: .seconds(240), "deleted everywhere") {
                    try await database.one("SELECT count(*) AS n FROM auth.deletion_jobs") { try $0.int("n") } == 0
                }
                let traces = try await LeftoverData.inTables(of: Self.schemas, containing: needles, database)
                #expect(traces == [])
                let files = try LeftoverData.inFiles(below: "\(suite.directory)/.roost/blobs", containing: needles)
                #expect(files == [])

                // Other users keep what they own.
                let history = try await bo.conversations.messages(created.shared)
                let goodbye = try #require(history.first { $0.data == "good-bye" })
                #expect(goodbye.senderUser == nil)
                #expect(try await bo.photos.post(created.commented).commentCount == 0)
            }
        }

        @Test("The text of deleted and edited messages and of deleted comments is removed everywhere")
        func deletedText() async throws {
            try await Self.withDatabase { suite, database in
                let ana = try await suite.person("ana")
                let bo = try await suite.person("bo")
                try await bo.preferences.register(
                    DeviceDraft(
                        platform: "ios_production",
                        token: String(repeating: "d4", count: 32),
                        deviceId: "phone"
                    )
                )
                let shared = try await ana.conversations.create(ConversationDraft(label: "Both"))
                try await bo.conversations.join(shared.token)
                let (deleted, edited) = (
                    try await ana.conversations.send(MessageDraft(data: "xylophone"), to: shared.token),
                    try await ana.conversations.send(MessageDraft(data: "marimba"), to: shared.token)
                )
                let post = try await bo.publishPost("mine")
                let comment = try await ana.photos.comment("glockenspiel", on: post.postId)
                let needles = ["xylophone", "marimba", "glockenspiel"]
                for needle in needles {
                    try await eventually(within: SuiteTests.promptLimit, "notified") {
                        try await !LeftoverData.inTables(of: ["push"], containing: [needle], database).isEmpty
                    }
                }

                try await ana.conversations.delete(deleted.id, in: shared.token)
                try await ana.conversations.edit(edited.id, in: shared.token, to: .init(data: "better"))
                try await ana.photos.delete(comment.commentId, on: post.postId)

                try await eventually(within: SuiteTests.promptLimit, "text removed everywhere") {
                    try await LeftoverData.inTables(of: Self.schemas, containing: needles, database).isEmpty
                }
                #expect(try LeftoverData.inFiles(below: "\(suite.directory)/.roost/blobs", containing: needles) == [])
                for person in [ana, bo] {
                    let response = try await person.service.send(.get, "/auth/me/export", timeout: .seconds(30))
                    let archive = try await Unzipped(response.body)
                    let text = archive.files.values.map { String(decoding: $0, as: UTF8.self) }.joined()
                    for needle in needles { #expect(!text.contains(needle), "\(needle)") }
                }
            }
        }

        @Test("The export is a valid ZIP archive of the user's data, without secrets")
        func exportArchive() async throws {
            try await RunningSuite.with { suite in
                let ana = try await suite.person("ana")
                let bo = try await suite.person("bo")
                let created = try await Self.createData(ana, with: bo)

                let response = try await ana.service.send(.get, "/auth/me/export", timeout: .seconds(30))

                #expect(response.headers[.contentType] == "application/zip")
                let archive = try await Unzipped(response.body)
                #expect(archive.problem == nil)
                for name in [
                    "account/account.json", "account/audit.json", "account/sessions.json", "conversations/profile.json",
                    "conversations/conversations.json", "photos/profile.json", "photos/posts.json",
                    "photos/comments.json", "photos/following.json", "push/devices.json", "push/subscriptions.json",
                    "social/networks.json",
                ] {
                    #expect(archive.files[name] != nil, "\(name)")
                }
                let documents = archive.files.filter { $0.key.hasSuffix(".json") }
                let text = documents.values.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n")
                #expect(text.contains("good-bye"))
                #expect(text.contains("Nice!"))
                #expect(text.contains("pianist"))
                #expect(archive.files.keys.contains { $0.hasPrefix("photos/images/\(created.file)") })
                for secret in [created.token, ana.signIn.refreshToken] {
                    #expect(!text.contains(secret))
                    #expect(!archive.files.keys.contains { $0.contains(secret) })
                }
            }
        }

        private static let schemas = ["auth", "conversations", "photos", "push", "social"]

        /// The data of a user that `createData` creates.
        private struct CreatedData {
            /// The token of a conversation of both users.
            var shared: String
            /// A post of the other user on which the user has commented.
            var commented: String
            /// The push token of the user's device.
            var token: String
            /// The key of the image's blob.
            var file: String
        }

        private static func createData(_ person: Person, with other: Person) async throws -> CreatedData {
            let me = try WireJSON.encoder().encode(AccountChanges(fullName: .set("Von der Tann")))
            _ = try await person.service.send(.patch, "/auth/me", body: me)
            let token = String(repeating: "c3", count: 32)
            try await person.preferences.register(
                DeviceDraft(platform: "ios_production", token: token, deviceId: "phone-of-hers")
            )
            try await person.preferences.subscribe(to: "pianist")
            try await person.preferences.join(topic: "news")
            let shared = try await other.conversations.create(ConversationDraft(label: "Both"))
            try await person.conversations.join(shared.token)
            _ = try await person.conversations.send(MessageDraft(data: "good-bye"), to: shared.token)
            _ = try await other.conversations.send(MessageDraft(data: "so long"), to: shared.token)
            let alone = try await person.conversations.create(ConversationDraft(label: "Von der Tann alone"))
            _ = try await person.conversations.send(MessageDraft(data: "dear diary"), to: alone.token)
            let post = try await person.publishPost("mine #farewell")
            let theirs = try await other.publishPost("theirs")
            try await person.like(theirs.postId)
            _ = try await person.comment("Nice!", about: theirs.postId)
            try await person.photos.follow(other.signIn.userId)
            try await other.photos.follow(person.signIn.userId)
            try await other.like(post.postId)
            _ = try await other.photos.home()
            let url = try #require(post.images.first?.url)
            let key = try #require(url.components(separatedBy: "/media/").last)
            return CreatedData(
                shared: shared.token,
                commented: theirs.postId,
                token: token,
                file: String(key.prefix(26))
            )
        }

        /// Runs a suite with a database that the test can read, and with a second deletion pass after one second.
        private static func withDatabase(
            _ body: (RunningSuite, PostgresPool) async throws -> Void
        ) async throws {
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let server = try await PostgresServer.temporary(logger: logger)
            do {
                let settings = ["DATABASE_URL": server.url(), "DELETION_SECOND_PASS_SECONDS": "1"]
                try await RunningSuite.with(settings: settings) { suite in
                    let configuration = try PostgresConfiguration(url: server.url())
                    let pool = PostgresPool(configuration: configuration, logger: logger)
                    try await body(suite, pool)
                    await pool.shutdown()
                }
                await server.discard()
            } catch {
                await server.discard()
                throw error
            }
        }
    }
}
