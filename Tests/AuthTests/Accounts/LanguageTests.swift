import AuthAPI
import Foundation
import HTTPTypes
import SandboxServer
import ServiceHost
import TestSupport
import Testing
import Wire

@testable import AuthServer
@testable import Messages

@Suite("Languages of users", .timeLimit(.minutes(5))) struct LanguageTests {
    private static func registration(_ username: String, email: String? = nil) -> String {
        var fields: [String: JSONValue] = ["username": .string(username), "password": .string(Auth.password)]
        fields["email"] = email.map { .string($0) }
        return json(fields)
    }

    @Test(
        "Each language file has the messages and placeholders of English",
        arguments: AuthTexts.embedded.keys.sorted()
    )
    func parity(name: String) throws {
        let language = try #require(LanguageTag(name))
        let bytes = try #require(AuthTexts.embedded[name])
        let english = try #require(AuthTexts.embedded["en"])
        let reference = try MessageCatalogue(english, file: "en.json", language: .english)
        let catalogue = try MessageCatalogue(bytes, file: "\(name).json", language: language)
        #expect(Set(catalogue.messages.keys) == Set(reference.messages.keys))
        for (key, message) in reference.messages {
            #expect(Set(catalogue.messages[key]?.placeholders ?? []) == Set(message.placeholders), "\(key)")
        }
    }

    @Test("A new user has the first language of Accept-Language that there are texts in")
    func signUp() async throws {
        try await withAuth { auth in
            let headers: HTTPFields = [.acceptLanguage: "sw, pt-br;q=0.9, en;q=0.8"]
            let registration = Self.registration("ada")
            #expect(try await auth.post("/auth/register", registration, headers: headers).status == 200)
            let ada = try await auth.signIn("ada")
            #expect(try await auth.me(ada.jwt).json["language"].string == "pt-BR")

            let answer = try await auth.service.send(.post, "/auth/anonymous", headers: [.acceptLanguage: "sw"])
            let anonymous = try auth.person(answer, "")
            #expect(try await auth.me(anonymous.jwt).json["language"].string == "sw")
            let named = Self.registration("bo")
            _ = try await auth.post("/auth/register", named, token: anonymous.jwt, headers: [.acceptLanguage: "de"])
            #expect(try await auth.me(anonymous.jwt).json["language"].string == "sw")

            let cy = try await auth.signUp("cy")
            #expect(try await auth.me(cy.jwt).json["language"] == .null)
        }
    }

    @Test("A user changes and removes the language")
    func change() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            func patch(_ body: String) async throws -> TestHTTPResponse {
                try await auth.service.send(.patch, "/auth/me", token: ada.jwt, body: body)
            }
            #expect(try await patch(#"{"language": "ZH-hant"}"#).json["language"].string == "zh-Hant")
            #expect(try await patch("{}").json["language"].string == "zh-Hant")
            let refused = try await patch(#"{"language": "en_US"}"#)
            #expect(refused.status == 400)
            #expect(refused.problem?.code == "malformed_language")
            #expect(refused.problem?.field == "language")
            #expect(try await patch(#"{"language": null}"#).json["language"] == .null)
        }
    }

    @Test("user.changed carries the language, and says whether names changed")
    func event() async throws {
        let push = EventRecorder(callee: "push")
        try await TestService.with(
            AuthService.self,
            settings: ["TOKEN_ENCRYPTION_KEY": Auth.key, "EVENT_SUBSCRIBERS": "user.changed=push"],
            peers: .with(["push": push.client])
        ) { service in
            let auth = Auth(service: service)
            _ = try await auth.post("/auth/register", Self.registration("ada"), headers: [.acceptLanguage: "de"])
            let ada = try await auth.signIn("ada")
            for body in [#"{"language": "fr"}"#, #"{"fullName": "Ada"}"#, #"{"language": null}"#] {
                _ = try await service.send(.patch, "/auth/me", token: ada.jwt, body: body)
            }
            let changes = try await push.events(4).map { try $0.content(as: UserChanged.self) }
            #expect(changes.map(\.language) == [.set("de"), .set("fr"), .set("fr"), .cleared])
            #expect(changes.map(\.changesNames) == [true, false, true, false])
        }
    }

    @Test("An event of an earlier release leaves the language unchanged")
    func earlierEvent() throws {
        let text = #"{"applicationId": "roost", "userId": "u", "username": "ada"}"#
        let changed = try WireJSON.decoder().decode(UserChanged.self, from: Data(text.utf8))
        #expect(changed.language == .unchanged)
        #expect(changed.changesNames)
    }

    @Test("A mail is in the language of the user")
    func mails() async throws {
        try await withMail { fixture in
            let registration = Self.registration("ada", email: "ada@example.org")
            _ = try await fixture.auth.post("/auth/register", registration, headers: [.acceptLanguage: "fr-CH, en"])
            let mail = try #require(try await fixture.mails(to: "ada@example.org").last)
            #expect(mail.subject == "Confirmez votre adresse e-mail pour Roost")
            #expect(mail.links.count == 1)
        }
    }

    @Test("Every mail has a subject and a text in every language", arguments: Email.Kind.allCases)
    func templates(kind: Email.Kind) throws {
        let templates = EmailTemplates(appName: "Acme", texts: try AuthTexts())
        for language in AuthTexts.embedded.keys {
            let context = EmailTemplates.Context(
                kind: kind,
                username: "ada",
                link: "https://x.example/#token=t",
                language: language
            )
            #expect(templates.subject(context).contains("Acme"), "\(language)")
            #expect(!templates.text(context).contains("mail."), "\(language)")
            #expect(!templates.text(context).contains("{"), "\(language)")
            let hasLink = kind == .verify || kind == .passwordReset
            #expect(templates.text(context).contains("\n\nhttps://x.example/#token=t\n\n") == hasLink, "\(language)")
        }
    }

    @Test(
        "A page is in the language of the browser",
        arguments: [
            ("ja", "ja", "新しいパスワードの設定"), ("es-MX,en", "es", "Elige una contraseña nueva"),
            ("sw", "en", "Choose a new password"),
        ]
    )
    func pages(header: String, language: String, title: String) async throws {
        try await withAuth { auth in
            let page = try await auth.service.send(.get, "/auth/password/reset", headers: [.acceptLanguage: header])
            #expect(page.headers[.contentLanguage] == language)
            #expect(page.text.contains("<html lang=\"\(language)\">"))
            #expect(page.text.contains("data-reset-title=\"\(title)\""))
            #expect(!page.text.contains("%%"))
        }
    }

    @Test("An operator's file adds a language; a malformed one stops the start")
    func operatorFiles() async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: root.appending(path: "auth"), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: root) }
        let path = root.path(percentEncoded: false)
        let file = root.appending(path: "auth/it.json")
        let italian =
            #"{"language": "it", "plurals": "oneAndMillions", "messages": {"page.reset.title": "Scegli <una> \"password\""}}"#
        try Data(italian.utf8).write(to: file)
        try await withAuth(settings: ["MESSAGES_PATH": path]) { auth in
            let page = try await auth.service.send(.get, "/auth/password/reset", headers: [.acceptLanguage: "it-IT"])
            #expect(page.headers[.contentLanguage] == "it")
            #expect(page.text.contains("Scegli &lt;una&gt; &quot;password&quot;"))
        }
        try Data("{".utf8).write(to: file)
        let error = #expect(throws: SettingError.self) { try AuthTexts(folder: path) }
        #expect(error?.description.contains("auth/it.json") == true)
    }
}
