import HTTPTypes
import PhotosAPI
@testable import PhotosServer
import Postgres
import TestSupport
import Testing
import Wire

@Suite("User search") struct PeopleSearchTests {
    @Test(
        "A user is found by prefixes of the words of the name",
        arguments: [
            ("mar", true), ("MARÍA", true), ("lop", true), ("maria lop", true), ("Lopez Mar", true), ("del pil", true),
            ("pilar l", true), ("maria lopez", true), ("Söf", false), ("ria", false), ("maria pilar", true),
            ("m4", true), ("m4ry", true), ("lópez—maría", true), ("  lopez  ", true), ("lopezz", false),
            ("mar lop", true),
            ("lopez del", true), ("pil mar d", true), ("maria maria", true), ("lopez pilar ana", false),
        ]
    )
    func wordPrefixes(query: String, isFound: Bool) async throws {
        try await withPhotos { fixture in
            let maria = try await fixture.testUser("M4ry")
            try await maria.photos.update(ProfileChanges(fullName: "María del Pilar López"))

            #expect(try await fixture.bob.photos.people(matching: query).map(\.userId) == (isFound ? ["M4ry"] : []))
        }
    }

    @Test(
        "A name is found regardless of case, accents and width",
        arguments: [
            ("Søren Kierkegård", "soren kierkegard"), ("STRASSE", "straße"), ("Ｗｉｄｅ", "wide"), ("Ёлкин", "елкин"),
            ("Ιωάννης", "ΙΩΑΝΝΗΣ"), ("O’Brien", "obri"), ("Jean-Luc", "luc je"), ("山田太郎", "山田"), ("ガガ", "ガガ"),
            ("ﬁona", "fio"), ("İstanbul", "istan"), ("Łukasz", "luk"), ("हिन्दी", "हिन्"), ("Zoë 2nd", "2nd z"),
        ]
    )
    func folding(name: String, query: String) async throws {
        let names = SearchNames.names(of: User.ID(application: RoostApplication.id, user: "x"), named: name)
        for word in SearchNames.query(query) {
            let isFound = names.contains { $0.utf8.starts(with: word.utf8) }
            #expect(isFound, "\(word)")
        }
        #expect(!SearchNames.query(query).isEmpty)
    }

    @Test("Characters that differ in meaning are not folded together")
    func distinctCharacters() {
        #expect(SearchNames.query("が") != SearchNames.query("か"))
        #expect(SearchNames.query("한국") == ["한국"])
        #expect(SearchNames.query("✨🎉").isEmpty)
    }

    @Test("Long names and queries are limited in words and length")
    func longNames() {
        let words = (0..<40).map { "w\($0)" }.joined(separator: " ")
        let names = SearchNames.names(of: User.ID(application: "other", user: "me"), named: words)
        #expect(names.count == SearchNames.maximumWords + 1)
        #expect(names.contains("me"))
        #expect(SearchNames.query(words) == (0..<8).map { "w\($0)" })
        let endless = SearchNames.names(
            of: User.ID(application: "other", user: "me"),
            named: words.filter { $0 != " " }
        )
        #expect(endless.allSatisfy { $0.unicodeScalars.count <= SearchNames.maximumLength })
    }

    @Test("A search returns at most ten users, an exact name first")
    func resultLimit() async throws {
        try await withPhotos { fixture in
            for number in (10..<24).reversed() {
                let testUser = try await fixture.testUser("x\(number)")
                try await testUser.photos.update(ProfileChanges(fullName: "Anna Annabel Ann\(number)"))
            }
            let exact = try await fixture.testUser("y")
            try await exact.photos.update(ProfileChanges(fullName: "Ann"))

            let found = try await fixture.bob.photos.people(matching: "ann").map(\.userId)

            #expect(found.count == 10)
            #expect(Set(found).count == 10)
            #expect(found.first == "y")
            #expect(Array(found.dropFirst()) == (10..<19).map { "x\($0)" })
        }
    }

    @Test(
        "Every word of the query is a prefix of a word of the name, in any order",
        arguments: [
            ("müller maria", true), ("maria ana", true), ("MUL an mar", true), ("ana müller", true), ("mü ma", true),
            ("ana maria müller", true), ("müller ana maria", true), ("anna müller", false), ("ller ana", false),
            ("ana ana maria", true), ("maria bo", false),
        ]
    )
    func anyWords(query: String, isFound: Bool) async throws {
        try await withPhotos { fixture in
            let ana = try await fixture.account("Ana Maria Müller")
            let bo = try await fixture.account("Bo Maria")
            for testUser in [ana, bo] { _ = try await testUser.photos.me() }

            let found = try await bo.photos.people(matching: query).map(\.userId)
            #expect(found.contains(ana.id.user) == isFound)
            #expect(found.count <= 2)
            #expect(Set(found).count == found.count)
        }
    }

    @Test("A search of several words reads only index ranges")
    func plan() async throws {
        try await withPhotos { fixture in
            let pool = fixture.service.database.pool
            try await fixture.createProfiles(fixture.ann)
            let ann = try #require(try await PeopleStore(db: pool).find(fixture.ann.id))
            try await pool.run(
                """
                INSERT INTO people_names (application_id, name, person_id)
                SELECT application_id, md5(n::text) || ' ' || md5(n::text || 'x'), person_id
                FROM people, generate_series(1, 20000) AS n
                """
            )
            try await pool.run("ANALYZE people_names")
            let asked = SummaryTests.CountingExecutor(pool: pool)
            let store = ProfileStore(db: asked, links: MediaLinks(publicURL: ""))
            _ = try await store.found(by: ["ma", "an", "mu"], for: ann, limit: 10, names: SearchNames.maximumNames)

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

    @Test("A user with search disabled is not found but keeps a profile")
    func privacy() async throws {
        try await withPhotos { fixture in
            try await fixture.createProfiles(fixture.ann)
            #expect(try await fixture.ann.photos.privacy() == Privacy(searchable: true))
            #expect(try await fixture.bob.photos.people(matching: "ann").map(\.userId) == ["ann"])

            #expect(try await fixture.ann.photos.update(Privacy(searchable: false)) == Privacy(searchable: false))
            try await fixture.ann.photos.update(ProfileChanges(fullName: "Ann Lee"))

            #expect(try await fixture.ann.photos.privacy() == Privacy(searchable: false))
            #expect(try await fixture.bob.photos.people(matching: "ann").isEmpty)
            #expect(try await fixture.bob.photos.profile(of: "ann").fullName == "Ann Lee")
            try await fixture.ann.photos.update(Privacy(searchable: true))
            try await fixture.ann.photos.update(Privacy(searchable: true))
            #expect(try await fixture.bob.photos.people(matching: "lee").map(\.userId) == ["ann"])
        }
    }

    @Test("Blocked users and users of other applications are not found")
    func blocksAndApplications() async throws {
        try await withPhotos { fixture in
            try await fixture.createProfiles(fixture.ann, fixture.bob, fixture.eve)
            try await fixture.set(blocked: true, fixture.bob, by: fixture.ann)
            let roosts = try await fixture.account("Ann Roost")
            _ = try await roosts.photos.me()

            #expect(try await fixture.bob.photos.people(matching: "ann").isEmpty)
            #expect(try await fixture.ann.photos.people(matching: "bob").isEmpty)
            #expect(try await fixture.eve.photos.people(matching: "ann").map(\.userId) == ["ann"])
            #expect(try await roosts.photos.people(matching: "bob").isEmpty)
            // The ids of Roost's users are not searchable.
            #expect(try await roosts.photos.people(matching: String(roosts.id.user.prefix(2))).isEmpty)
            #expect(try await roosts.photos.people(matching: "roost").map(\.fullName) == ["Ann Roost"])
        }
    }

    @Test(
        "An invalid query is rejected with its error code",
        arguments: [
            ("", "missing_field"), ("?query=", "missing_field"), ("?query=a", "too_short"),
            ("?query=%20a%20-", "too_short"),
            ("?query=%F0%9F%8E%89%F0%9F%8E%89", "too_short"), ("?query=a%00b", "nul_character"),
            ("?query=\(String(repeating: "x", count: 101))", "too_long"),
        ]
    )
    func invalidQuery(query: String, code: String) async throws {
        try await withPhotos { fixture in
            let response = try await fixture.ann.ask(.get, "/photos/people\(query)")

            #expect(response.status == 400, "\(response.text)")
            #expect(response.problem?.field == "query", "\(response.text)")
            #expect(response.problem?.code == code)
        }
    }

    @Test(
        "An invalid privacy setting is rejected",
        arguments: [#"{}"#, #"{"searchable": null}"#, #"{"searchable": "no"}"#]
    )
    func invalidPrivacy(body: String) async throws {
        try await withPhotos { fixture in
            let response = try await fixture.ann.ask(.put, "/photos/me/privacy", body)
            #expect(response.status == 400)
            #expect(response.problem?.field == "searchable")
        }
    }
}
