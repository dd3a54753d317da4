import Postgres
import Testing

@Suite("Migrations") struct MigratorTests {
    private func migration(_ name: String, _ sql: String) -> Migration {
        Migration(name: name, sql: Array(sql.utf8))
    }

    private let first = Migration(
        name: "V0001_create_things",
        sql: Array("CREATE TABLE things (id int8 PRIMARY KEY); -- two\nINSERT INTO things VALUES (1), (2);\n".utf8)
    )

    private func withSchema(
        role: String? = nil,
        _ body: (Fixture, Migrator, String) async throws -> Void
    ) async throws {
        try await withFixture { fixture in
            let schema = TestServer.uniqueName("M ")
            var configuration = try PostgresConfiguration(url: TestServer.url)
            configuration.role = role
            let migrator = Migrator(
                configuration: configuration,
                schema: schema,
                timeout: .seconds(20),
                logger: TestServer.logger
            )
            let result: Result<Void, any Error>
            do {
                result = .success(try await body(fixture, migrator, schema))
            } catch {
                result = .failure(error)
            }
            try await fixture.admin.run("DROP SCHEMA IF EXISTS \(identifier: schema) CASCADE")
            if let role { try await fixture.admin.run("DROP ROLE IF EXISTS \(identifier: role)") }
            try result.get()
        }
    }

    private func tables(_ fixture: Fixture, _ schema: String) async throws -> [String] {
        try await fixture.admin.all("SELECT tablename FROM pg_tables WHERE schemaname = \(schema) ORDER BY 1") {
            try $0.string("tablename")
        }
    }

    @Test("Migrations are applied once, in the order of their names")
    func order() async throws {
        try await withSchema { fixture, migrator, schema in
            let second = migration("V0002_add_name", "ALTER TABLE things ADD COLUMN name text;")

            try await #expect(migrator.migrate([second, first]) == [first.name, second.name])
            try await #expect(migrator.migrate([first, second]) == [])

            let third = migration("V0003_index", "CREATE INDEX things_name ON things (name)")
            try await #expect(migrator.migrate([first, second, third]) == [third.name])
            try await #expect(tables(fixture, schema) == ["schema_migrations", "things"])
        }
    }

    @Test("Concurrent migrators apply each migration once")
    func concurrentMigration() async throws {
        try await withSchema { fixture, migrator, schema in
            let slow = migration("V0002_slow", "SELECT pg_sleep(0.1); INSERT INTO things VALUES (3)")

            let applied = try await withThrowingTaskGroup(of: [String].self) { group in
                for _ in 0..<6 { group.addTask { try await migrator.migrate([first, slow]) } }
                return try await group.reduce(into: []) { $0 += $1 }
            }

            #expect(applied == [first.name, slow.name])
            let count = try await fixture.admin.one("SELECT count(*) AS it FROM \(identifier: schema).things") {
                try $0.int("it")
            }
            #expect(count == 3)
        }
    }

    @Test("A migration that was edited after it was applied is refused")
    func editedMigration() async throws {
        try await withSchema { _, migrator, _ in
            try await migrator.migrate([first])

            let error = await #expect(throws: PostgresError.self) {
                try await migrator.migrate([migration(first.name, "CREATE TABLE other (id int8)")])
            }

            #expect(error?.kind == .migration)
            #expect(error?.message.contains("V0001_create_things was edited") == true)
        }
    }

    @Test("A missing migration, or a new one before an applied one, is refused")
    func missingOrLateMigration() async throws {
        try await withSchema { fixture, migrator, schema in
            let third = migration("V0003_other", "CREATE TABLE other (id int8)")
            try await migrator.migrate([first, third])

            let missing = await #expect(throws: PostgresError.self) { try await migrator.migrate([third]) }
            let late = await #expect(throws: PostgresError.self) {
                try await migrator.migrate([first, migration("V0002_late", "CREATE TABLE late (id int8)"), third])
            }

            #expect(missing?.message.contains("V0001_create_things is applied, but the program") == true)
            #expect(late?.message.contains("V0002_late sorts before V0003_other") == true)
            try await #expect(tables(fixture, schema) == ["other", "schema_migrations", "things"])
        }
    }

    @Test("An older release starts while a newer one's migrations are applied")
    func olderRelease() async throws {
        try await withSchema { _, migrator, _ in
            try await migrator.migrate([first, migration("V0002_newer", "CREATE TABLE newer (id int8)")])

            try await #expect(migrator.migrate([first]) == [])
        }
    }

    @Test("A failed migration leaves no change, and can be corrected")
    func failedMigration() async throws {
        try await withSchema { fixture, migrator, schema in
            let broken = migration("V0002_broken", "CREATE TABLE half (id int8); SELECT 1 / 0; CREATE TABLE rest ();")

            let error = await #expect(throws: PostgresError.self) { try await migrator.migrate([first, broken]) }

            #expect(error?.sqlState == "22012")
            #expect(error.map { "\($0)" }?.contains("V0002_broken") == true)
            try await #expect(tables(fixture, schema) == ["schema_migrations", "things"])
            let mended = migration("V0002_broken", "CREATE TABLE half (id int8)")
            try await #expect(migrator.migrate([first, mended]) == [mended.name])
        }
    }

    @Test(
        "A migration that ends its transaction is refused",
        arguments: ["CREATE TABLE half (id int8); COMMIT;", "COMMIT; BEGIN; CREATE TABLE half (id int8);"]
    )
    func transactionControl(sql: String) async throws {
        try await withSchema { _, migrator, _ in
            let error = await #expect(throws: PostgresError.self) {
                try await migrator.migrate([migration("V0001_commits", sql)])
            }

            #expect(error?.kind == .migration)
            #expect(error?.message.contains("V0001_commits") == true)
        }
    }

    @Test("A setting of one migration does not apply to the next")
    func settingsDoNotLeak() async throws {
        try await withSchema { fixture, migrator, schema in
            let wandering = migration("V0002_wanders", "SET search_path = public; SELECT 1;")
            let next = migration("V0003_next", "CREATE TABLE next (id int8)")

            try await migrator.migrate([first, wandering, next])

            try await #expect(tables(fixture, schema) == ["next", "schema_migrations", "things"])
        }
    }

    @Test("A role is made and owns its schema")
    func role() async throws {
        let role = TestServer.uniqueName("R ")
        try await withSchema(role: role) { fixture, migrator, schema in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 { group.addTask { try await migrator.migrate([first]) } }
                try await group.waitForAll()
            }

            let owners = try await fixture.admin.all(
                """
                SELECT tableowner AS owner FROM pg_tables WHERE schemaname = \(schema)
                UNION SELECT nspowner::regrole::name FROM pg_namespace WHERE nspname = \(schema)
                """
            ) { try $0.string("owner") }
            #expect(Set(owners.map { $0.replacing("\"", with: "") }) == [role])
        }
    }

    @Test("A migration that is not UTF-8 text is refused")
    func binaryMigration() async throws {
        try await withSchema { fixture, migrator, schema in
            for bytes: [UInt8] in [[0x53, 0], [0xFF, 0xFE]] {
                let error = await #expect(throws: PostgresError.self) {
                    try await migrator.migrate([first, Migration(name: "V0002_bytes", sql: bytes)])
                }
                #expect(error?.kind == .migration)
            }
            try await #expect(tables(fixture, schema).isEmpty)
        }
    }
}
