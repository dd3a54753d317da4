import HTTPTypes
import PhotosAPI
@testable import PhotosServer
import Postgres
import TestSupport
import Testing
import Wire

/// The people that a user finds by words of a name.
@Suite struct PeopleSearchTests {
    @Test(arguments: [
        ("mar", true), ("MARÍA", true), ("lop", true), ("maria lop", true), ("Lopez Mar", true), ("del pil", true),
        ("pilar l", true), ("maria lopez", true), ("Söf", false), ("ria", false), ("maria pilar", true),
        ("m4", true), ("m4ry", true), ("lópez—maría", true), ("  lopez  ", true), ("lopezz", false), ("mar lop", true),
        ("lopez del", true), ("pil mar d", true), ("maria maria", true), ("lopez pilar ana", false),
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
        let names = FoundNames.names(of: User.ID(application: RoostApplication.id, user: "x"), named: name)
        for word in FoundNames.query(query) {
            let isFound = names.contains { $0.utf8.starts(with: word.utf8) }
            #expect(isFound, "\(word)")
        }
        #expect(!FoundNames.query(query).isEmpty)
    }

    @Test func whatIsALetterOfItsOwnStaysOne() {
        #expect(FoundNames.query("が") != FoundNames.query("か"))
        #expect(FoundNames.query("한국") == ["한국"])
        #expect(FoundNames.query("✨🎉").isEmpty)
    }

    @Test func aLongNameIsFoundBySoManyWords() {
        let words = (0..<40).map { "w\($0)" }.joined(separator: " ")
        let names = FoundNames.names(of: User.ID(application: "other", user: "me"), named: words)
        #expect(names.count == FoundNames.maximumWords + 1 && names.contains("me"))
        #expect(FoundNames.query(words) == (0..<8).map { "w\($0)" })
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

    @Test(
        "Every word of the query begins a word of the name, in any order",
        arguments: [
            ("müller maria", true), ("maria ana", true), ("MUL an mar", true), ("ana müller", true), ("mü ma", true),
            ("ana maria müller", true), ("müller ana maria", true), ("anna müller", false), ("ller ana", false),
            ("ana ana maria", true), ("maria bo", false),
        ]
    )
    func anyWords(query: String, isFound: Bool) async throws {
        try await withPhotos { scene in
            let ana = try await scene.account("Ana Maria Müller")
            let bo = try await scene.account("Bo Maria")
            for player in [ana, bo] { _ = try await player.photos.me() }

            let found = try await bo.photos.people(found: query).map(\.userId)
            #expect(found.contains(ana.id.user) == isFound)
            #expect(found.count <= 2 && Set(found).count == found.count)
        }
    }

    @Test("A search of several words reads ranges of the index alone")
    func plan() async throws {
        try await withPhotos { scene in
            let pool = scene.service.database.pool
            try await scene.introduce(scene.ann)
            let ann = try #require(try await PeopleStore(db: pool).find(scene.ann.id))
            try await pool.run(
                """
                INSERT INTO people_names (application_id, name, person_id)
                SELECT application_id, md5(n::text) || ' ' || md5(n::text || 'x'), person_id
                FROM people, generate_series(1, 20000) AS n
                """
            )
            try await pool.run("ANALYZE people_names")
            let asked = SummaryTests.Counted(pool: pool)
            let store = ProfileStore(db: asked, links: MediaLinks(publicURL: ""))
            _ = try await store.found(by: ["ma", "an", "mu"], for: ann, limit: 10, names: FoundNames.maximumNames)

            let query = try #require(asked.statements.value.first)
            #expect(asked.statements.value.count == 1)
            let plan: String = try await pool.transaction { db in
                for (name, value) in PhotosService.readSettings {
                    _ = try await db.execute("SELECT set_config(\(name), \(value), true)")
                }
                let explained = PostgresQuery(sql: "EXPLAIN \(query.sql)", parameters: query.parameters)
                return try await db.all(explained, as: { try $0.string("QUERY PLAN") }).joined(separator: "\n")
            }
            #expect(!plan.contains("Seq Scan on people_names"), "\(plan)")
            let lines = plan.split(separator: "\n")
            let scans = lines.filter { $0.contains("people_names_pkey") }
            #expect(scans.count == 3, "\(plan)")
            let ranges = lines.filter { $0.contains("Index Cond") && $0.contains("name >=") }
            #expect(ranges.count == 3, "\(plan)")
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
