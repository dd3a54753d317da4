import Postgres
import Testing

@Suite("Queries") struct QueryTests {
    @Test("Interpolated values become parameters, and only unsafe text becomes SQL")
    func interpolation() {
        let name = "x'; DROP TABLE a; --"
        let query: PostgresQuery =
            "SELECT \(identifier: "we\"ird") FROM a WHERE b = \(name) AND c = \(nil as Int?) ORDER BY \(unsafe: "d DESC")"

        #expect(query.sql == #"SELECT "we""ird" FROM a WHERE b = $1 AND c = $2 ORDER BY d DESC"#)
        #expect(query.parameters.map(\.type) == [.text, .int8])
        #expect(query.parameters[0].bytes == Array(name.utf8))
        #expect(query.parameters[1].bytes == nil)
    }

    @Test("An error about a malformed URL does not contain the password")
    func malformedURL() {
        let error = #expect(throws: PostgresError.self) {
            try PostgresConfiguration(url: "postgres://user:s3cret@host:notaport:1/x?nonsense=1")
        }

        #expect(error?.kind == .configuration)
        #expect(error.map { "\($0)" }?.contains("s3cret") == false)
    }

    @Test("An error names the constraint, and contains no values of the row")
    func errorWithoutValues() async throws {
        try await withFixture { fixture in
            try await fixture.pool.run("CREATE TABLE people (email text CONSTRAINT people_email_key UNIQUE)")
            try await fixture.pool.run("INSERT INTO people VALUES (\("secret@example.org"))")

            let error = await #expect(throws: PostgresError.self) {
                try await fixture.pool.run("INSERT INTO people VALUES (\("secret@example.org"))")
            }

            #expect(error?.violates("people_email_key") == true)
            #expect(error?.violates("people_name_key") == false)
            #expect(error?.sqlState == "23505")
            #expect(error?.report?.table == "people")
            #expect(error.map { "\($0)" }?.contains("secret") == false)
            #expect(error?.isRetryable == false)
        }
    }

    @Test("Role, schema and application name are set")
    func roleAndSchema() async throws {
        let role = TestServer.uniqueName("r o\\l\"e ")
        try await withFixture { fixture in
            try await fixture.admin.run("CREATE ROLE \(identifier: role) NOLOGIN")
            try await fixture.admin.run("CREATE SCHEMA \(identifier: role) AUTHORIZATION \(identifier: role)")
            var configuration = try PostgresConfiguration(url: TestServer.url)
            configuration.role = role
            configuration.schema = role
            configuration.applicationName = "it's \\ me"
            relaxTimeouts(&configuration)
            let pool = PostgresPool(configuration: configuration, logger: TestServer.logger)

            let settings = try await pool.one(
                """
                SELECT current_user::text AS role, current_schema::text AS schema, current_setting('TimeZone') AS zone,
                    current_setting('client_encoding') AS encoding, current_setting('application_name') AS application
                """
            ) { row in try ["role", "schema", "zone", "encoding", "application"].map(row.string) }

            #expect(settings == [role, role, "UTC", "UTF8", "it's \\ me"])
            await pool.shutdown()
            try await fixture.admin.run("DROP OWNED BY \(identifier: role)")
            try await fixture.admin.run("DROP ROLE \(identifier: role)")
        }
    }
}
