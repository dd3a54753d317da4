import HTTPTypes
import PhotosAPI
@testable import PhotosServer
import TestSupport
import Testing
import Wire

/// Whom one finds by the beginning of a name.
@Suite struct PeopleSearchTests {
    @Test(arguments: [
        ("mar", true), ("MARÍA", true), ("lop", true), ("maria lop", true), ("Lopez Mar", true), ("del pil", true),
        ("pilar l", true), ("maria lopez", true), ("Söf", false), ("ria", false), ("maria pilar", false),
        ("m4", true), ("m4ry", true), ("lópez—maría", true), ("  lopez  ", true), ("lopezz", false),
    ])
    func anyWordBeginsAName(query: String, isFound: Bool) async throws {
        try await withPhotos { scene in
            let maria = try await scene.player("M4ry")
            try await maria.photos.change(ProfileChanges(fullName: "María del Pilar López"))

            #expect(try await scene.bob.photos.people(found: query).map(\.userId) == (isFound ? ["M4ry"] : []))
        }
    }

    @Test(arguments: [
        ("Søren Kierkegård", "soren kierkegard"), ("STRASSE", "straße"), ("Ｗｉｄｅ", "wide"), ("Ёлкин", "елкин"),
        ("Ιωάννης", "ΙΩΑΝΝΗΣ"), ("O’Brien", "obri"), ("Jean-Luc", "luc je"), ("山田太郎", "山田"), ("ガガ", "ガガ"),
        ("ﬁona", "fio"), ("İstanbul", "istan"), ("Łukasz", "luk"), ("हिन्दी", "हिन्"), ("Zoë 2nd", "2nd z"),
    ])
    func accentsAndCasesAreOne(name: String, query: String) async throws {
        #expect(
            FoundNames.names(of: User.ID(application: RoostApplication.id, user: "x"), named: name)
                .contains { $0.utf8.starts(with: FoundNames.query(query).utf8) }
        )
        #expect(!FoundNames.query(query).isEmpty)
    }

    @Test func whatIsALetterOfItsOwnStaysOne() {
        #expect(FoundNames.query("が") != FoundNames.query("か"))
        #expect(FoundNames.query("한국") == "한국")
        #expect(FoundNames.query("✨🎉").isEmpty)
    }

    @Test func aLongNameIsFoundBySoManyWords() {
        let words = (0..<40).map { "w\($0)" }.joined(separator: " ")
        let names = FoundNames.names(of: User.ID(application: "other", user: "me"), named: words)
        #expect(names.count == FoundNames.maximumNames && names.contains("me") && names.contains("w0 w7"))
        let endless = FoundNames.names(of: User.ID(application: "other", user: "me"), named: words.filter { $0 != " " })
        #expect(endless.allSatisfy { $0.unicodeScalars.count <= FoundNames.maximumLength })
    }

    @Test func tenAreFoundInTheOrderOfTheirNamesEachOnce() async throws {
        try await withPhotos { scene in
            for number in (10..<24).reversed() {
                let player = try await scene.player("x\(number)")
                try await player.photos.change(ProfileChanges(fullName: "Anna Annabel Ann\(number)"))
            }
            let exact = try await scene.player("y")
            try await exact.photos.change(ProfileChanges(fullName: "Ann"))

            let found = try await scene.bob.photos.people(found: "ann").map(\.userId)

            #expect(found.count == 10 && Set(found).count == 10 && found.first == "y")
            #expect(Array(found.dropFirst()) == (10..<19).map { "x\($0)" })
        }
    }

    @Test func whoDoesNotWantToBeFoundIsNot() async throws {
        try await withPhotos { scene in
            try await scene.introduce(scene.ann)
            #expect(try await scene.ann.photos.privacy() == Privacy(searchable: true))
            #expect(try await scene.bob.photos.people(found: "ann").map(\.userId) == ["ann"])

            #expect(try await scene.ann.photos.change(Privacy(searchable: false)) == Privacy(searchable: false))
            try await scene.ann.photos.change(ProfileChanges(fullName: "Ann Lee"))

            #expect(try await scene.ann.photos.privacy() == Privacy(searchable: false))
            #expect(try await scene.bob.photos.people(found: "ann").isEmpty)
            #expect(try await scene.bob.photos.profile(of: "ann").fullName == "Ann Lee")
            try await scene.ann.photos.change(Privacy(searchable: true))
            try await scene.ann.photos.change(Privacy(searchable: true))
            #expect(try await scene.bob.photos.people(found: "lee").map(\.userId) == ["ann"])
        }
    }

    @Test func nobodyIsFoundAcrossABlockOrAnApplication() async throws {
        try await withPhotos { scene in
            try await scene.introduce(scene.ann, scene.bob, scene.eve)
            try await scene.set(blocked: true, scene.bob, by: scene.ann)
            let roosts = try await scene.account("Ann Roost")
            _ = try await roosts.photos.me()

            #expect(try await scene.bob.photos.people(found: "ann").isEmpty)
            #expect(try await scene.ann.photos.people(found: "bob").isEmpty)
            #expect(try await scene.eve.photos.people(found: "ann").map(\.userId) == ["ann"])
            #expect(try await roosts.photos.people(found: "bob").isEmpty)
            // Roost's ids are no names.
            #expect(try await roosts.photos.people(found: String(roosts.id.user.prefix(2))).isEmpty)
            #expect(try await roosts.photos.people(found: "roost").map(\.fullName) == ["Ann Roost"])
        }
    }

    @Test(arguments: [
        ("", "missing_field"), ("?query=", "missing_field"), ("?query=a", "too_short"),
        ("?query=%20a%20-", "too_short"),
        ("?query=%F0%9F%8E%89%F0%9F%8E%89", "too_short"), ("?query=a%00b", "nul_character"),
        ("?query=\(String(repeating: "x", count: 101))", "too_long"),
    ])
    func whatCannotBeSearchedForIsRefused(query: String, code: String) async throws {
        try await withPhotos { scene in
            let answer = try await scene.ann.ask(.get, "/photos/people\(query)")

            #expect(answer.status == 400 && answer.problem?.field == "query", "\(answer.text)")
            #expect(answer.problem?.code == code)
        }
    }

    @Test(arguments: [#"{}"#, #"{"searchable": null}"#, #"{"searchable": "no"}"#])
    func privacyIsYesOrNo(body: String) async throws {
        try await withPhotos { scene in
            let answer = try await scene.ann.ask(.put, "/photos/me/privacy", body)
            #expect(answer.status == 400 && answer.problem?.field == "searchable")
        }
    }
}
