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
        try await withPipeline { fixture in
            for name in ["ann", "bob", "eve"] { try await fixture.device(of: name) }
            try await fixture.device("tablet", of: "bob", token: "bob-tablet")
            let languages = UserLanguageStore(db: fixture.pool)
            try await languages.set("pt-BR", of: PipelineFixture.user("bob"))
            try await languages.set("sw", of: PipelineFixture.user("eve"))
            try await fixture.pool.run("UPDATE devices SET language = 'ja' WHERE device_id = 'tablet'")

            try await fixture.notify(["ann", "bob", "eve"], kind: .like) { request in
                (request.title, request.bodyMessage) = (nil, Self.like)
            }
            try await fixture.run()

            let bodies = Dictionary(uniqueKeysWithValues: fixture.provider.sent.map { ($0.token, $0.message.body) })
            #expect(bodies["ann-phone"] == "Ana and 4 others liked your photo")
            #expect(bodies["bob-phone"] == "Ana e mais 4 pessoas curtiram sua foto")
            #expect(bodies["bob-tablet"] == "Anaさんとほか4人があなたの写真に「いいね！」しました")
            #expect(bodies["eve-phone"] == "Ana and 4 others liked your photo")
        }
    }

    @Test("The log shows titles in the user's language")
    func log() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            try await UserLanguageStore(db: fixture.pool).set("fr", of: PipelineFixture.user("ann"))
            try await fixture.notify(["ann"], kind: .follow) { request in
                (request.title, request.titleMessage) = (nil, NotificationText("follow.title"))
            }
            try await fixture.run()
            #expect(try await fixture.log(of: "ann").map(\.title) == ["Vous avez un nouvel abonné"])
        }
    }

    @Test("An unknown message key leaves the text that was sent with it")
    func unknownKey() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            try await fixture.notify(["ann"], "Fallback") { $0.titleMessage = NotificationText("of.a.newer.release") }
            try await fixture.run()
            #expect(fixture.provider.titles(to: "ann-phone") == ["Fallback"])
        }
    }

    @Test("A device with locKeys receives keys and arguments, except for the text of users")
    func localizedKeys() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            try await fixture.pool.run("UPDATE devices SET loc_keys = true")
            try await fixture.notify(["ann"], kind: .comment) { request in
                request.titleMessage = NotificationText("comment.one", ["name": .text("Ana")])
                (request.title, request.body) = (nil, "Nice!")
            }
            try await fixture.notify(["ann"], kind: .like) { request in
                (request.title, request.bodyMessage) = (nil, Self.like)
            }
            try await fixture.run()

            let sent = fixture.provider.sent.map(\.message)
            try #require(sent.count == 2)
            #expect(sent[0].localizedTitle == PushMessage.Localization(key: "comment.one", arguments: ["Ana"]))
            #expect(sent[0].localizedBody == nil)
            #expect(sent[0].body == "Nice!")
            #expect(
                sent[1].localizedBody == PushMessage.Localization(key: "like.others.other", arguments: ["Ana", "4"])
            )
        }
    }

    @Test("A device keeps its own language when another service registers it")
    func devices() async throws {
        try await withPush { fixture in
            var draft = DeviceDraft.phone("aa")
            (draft.language, draft.locKeys) = ("PT-br", true)
            let device = try await fixture.ann.preferences.register(draft)
            #expect(device.language == "pt-BR")
            #expect(device.locKeys)
            try await fixture.publish(
                DeviceRegistered(
                    applicationId: PushFixture.application,
                    userId: "ann",
                    sessionId: fixture.ann.session,
                    deviceId: "phone",
                    platform: "ios_production",
                    pushToken: "bb"
                )
            )
            #expect(try await fixture.ann.preferences.devices().map(\.language) == ["pt-BR"])
            let plain = try await fixture.ann.preferences.register(.phone("cc"))
            #expect(plain.language == nil)
            #expect(!plain.locKeys)
        }
    }

    @Test("A malformed language of a device is rejected")
    func malformed() async throws {
        try await withPush { fixture in
            var draft = DeviceDraft.phone("aa")
            draft.language = "en_US"
            let error = await #expect(throws: APIError.self) { try await fixture.ann.preferences.register(draft) }
            #expect(error?.code == "malformed_language")
            #expect(error?.field == "language")
        }
    }

    @Test("Push keeps the language of user.changed until it is removed or the user is deleted")
    func userChanged() async throws {
        try await withPush { fixture in
            func publish(_ language: Change<String>) async throws -> [String] {
                try await fixture.publish(
                    UserChanged(
                        applicationId: PushFixture.application,
                        userId: "ann",
                        username: "ann",
                        fullName: nil,
                        language: language
                    )
                )
                return try await fixture.rows("SELECT language AS row FROM user_languages")
            }
            #expect(try await publish(.set("pt-BR")) == ["pt-BR"])
            #expect(try await publish(.unchanged) == ["pt-BR"])
            #expect(try await publish(.set("not a tag")) == ["pt-BR"])
            #expect(try await publish(.cleared).isEmpty)
            _ = try await publish(.set("fr"))
            try await fixture.publish(UserDeleted(applicationId: PushFixture.application, userId: "ann"))
            #expect(try await fixture.rows("SELECT language AS row FROM user_languages").isEmpty)
        }
    }
}
