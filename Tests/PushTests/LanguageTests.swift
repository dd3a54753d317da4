import AuthAPI
import Foundation
import Postgres
import PushAPI
import PushProviders
import TestSupport
import Testing
import Wire

@testable import Messages
@testable import PushServer

@Suite("Languages of notifications") struct LanguageTests {
    private static let like = NotificationText("like.others", ["name": .text("Ana"), "count": .number(4)])

    @Test(
        "Each language file has the messages and placeholders of English",
        arguments: PushTexts.embedded.keys.sorted()
    )
    func parity(name: String) throws {
        let language = try #require(LanguageTag(name))
        let bytes = try #require(PushTexts.embedded[name])
        let english = try #require(PushTexts.embedded["en"])
        let reference = try MessageCatalogue(english, file: "en.json", language: .english)
        let catalogue = try MessageCatalogue(bytes, file: "\(name).json", language: language)
        #expect(Set(catalogue.messages.keys) == Set(reference.messages.keys))
        for (key, message) in reference.messages {
            #expect(Set(catalogue.messages[key]?.placeholders ?? []) == Set(message.placeholders), "\(key)")
        }
    }

    @Test("A notification is in the language of the device, else of the user, else in English")
    func languages() async throws {
        try await withPipeline { scene in
            for name in ["ann", "bob", "eve"] { try await scene.device(of: name) }
            try await scene.device("tablet", of: "bob", token: "bob-tablet")
            let languages = UserLanguageStore(db: scene.pool)
            try await languages.set("pt-BR", of: PipelineScene.user("bob"))
            try await languages.set("sw", of: PipelineScene.user("eve"))
            try await scene.pool.run("UPDATE devices SET language = 'ja' WHERE device_id = 'tablet'")

            try await scene.notify(["ann", "bob", "eve"], kind: .like) { request in
                (request.title, request.bodyMessage) = (nil, Self.like)
            }
            try await scene.run()

            let bodies = Dictionary(uniqueKeysWithValues: scene.provider.sent.map { ($0.token, $0.message.body) })
            #expect(bodies["ann-phone"] == "Ana and 4 others liked your photo")
            #expect(bodies["bob-phone"] == "Ana e mais 4 pessoas curtiram sua foto")
            #expect(bodies["bob-tablet"] == "Anaさんとほか4人があなたの写真に「いいね！」しました")
            #expect(bodies["eve-phone"] == "Ana and 4 others liked your photo")
        }
    }

    @Test("The log shows titles in the user's language")
    func log() async throws {
        try await withPipeline { scene in
            try await scene.device(of: "ann")
            try await UserLanguageStore(db: scene.pool).set("fr", of: PipelineScene.user("ann"))
            try await scene.notify(["ann"], kind: .follow) { request in
                (request.title, request.titleMessage) = (nil, NotificationText("follow.title"))
            }
            try await scene.run()
            #expect(try await scene.log(of: "ann").map(\.title) == ["Vous avez un nouvel abonné"])
        }
    }

    @Test("A key that push does not know leaves the text that was sent with it")
    func unknownKey() async throws {
        try await withPipeline { scene in
            try await scene.device(of: "ann")
            try await scene.notify(["ann"], "Fallback") { $0.titleMessage = NotificationText("of.a.newer.release") }
            try await scene.run()
            #expect(scene.provider.titles(to: "ann-phone") == ["Fallback"])
        }
    }

    @Test("A device with locKeys receives keys and arguments, but for texts of users")
    func localizedKeys() async throws {
        try await withPipeline { scene in
            try await scene.device(of: "ann")
            try await scene.pool.run("UPDATE devices SET loc_keys = true")
            try await scene.notify(["ann"], kind: .comment) { request in
                request.titleMessage = NotificationText("comment.one", ["name": .text("Ana")])
                (request.title, request.body) = (nil, "Nice!")
            }
            try await scene.notify(["ann"], kind: .like) { request in
                (request.title, request.bodyMessage) = (nil, Self.like)
            }
            try await scene.run()

            let sent = scene.provider.sent.map(\.message)
            try #require(sent.count == 2)
            #expect(sent[0].localizedTitle == PushMessage.Localization(key: "comment.one", arguments: ["Ana"]))
            #expect(sent[0].localizedBody == nil)
            #expect(sent[0].body == "Nice!")
            #expect(
                sent[1].localizedBody == PushMessage.Localization(key: "like.others.other", arguments: ["Ana", "4"])
            )
        }
    }

    @Test("A device keeps its own language, which an event of another service does not remove")
    func devices() async throws {
        try await withPush { scene in
            var draft = DeviceDraft.phone("aa")
            (draft.language, draft.locKeys) = ("PT-br", true)
            let device = try await scene.ann.preferences.register(draft)
            #expect(device.language == "pt-BR")
            #expect(device.locKeys)
            try await scene.tell(
                DeviceRegistered(
                    applicationId: Scene.application,
                    userId: "ann",
                    sessionId: scene.ann.session,
                    deviceId: "phone",
                    platform: "ios_production",
                    pushToken: "bb"
                )
            )
            #expect(try await scene.ann.preferences.devices().map(\.language) == ["pt-BR"])
            let plain = try await scene.ann.preferences.register(.phone("cc"))
            #expect(plain.language == nil)
            #expect(!plain.locKeys)
        }
    }

    @Test("A malformed language of a device is refused")
    func malformed() async throws {
        try await withPush { scene in
            var draft = DeviceDraft.phone("aa")
            draft.language = "en_US"
            let error = await #expect(throws: APIError.self) { try await scene.ann.preferences.register(draft) }
            #expect(error?.code == "malformed_language")
            #expect(error?.field == "language")
        }
    }

    @Test("Push keeps the language of user.changed until it is removed or the user is deleted")
    func userChanged() async throws {
        try await withPush { scene in
            func tell(_ language: Change<String>) async throws -> [String] {
                try await scene.tell(
                    UserChanged(
                        applicationId: Scene.application,
                        userId: "ann",
                        username: "ann",
                        fullName: nil,
                        language: language
                    )
                )
                return try await scene.rows("SELECT language AS row FROM user_languages")
            }
            #expect(try await tell(.set("pt-BR")) == ["pt-BR"])
            #expect(try await tell(.unchanged) == ["pt-BR"])
            #expect(try await tell(.set("not a tag")) == ["pt-BR"])
            #expect(try await tell(.cleared).isEmpty)
            _ = try await tell(.set("fr"))
            try await scene.tell(UserDeleted(applicationId: Scene.application, userId: "ann"))
            #expect(try await scene.rows("SELECT language AS row FROM user_languages").isEmpty)
        }
    }
}
