import Foundation
import Postgres
import Testing

/// Values that are sent to the server and read back.
@Suite("Values") struct ValueTests {
    /// Sends a value and reads it back, with its type on the server and a NULL.
    private func roundTrip<Value: PostgresEncodable & PostgresDecodable & Equatable>(
        _ values: [Value],
        as type: String
    ) async throws {
        try await withFixture { fixture in
            for value in values {
                let answer = try await fixture.pool.reads.one(
                    "SELECT \(value) AS it, pg_typeof(\(value))::text AS type, \(nil as Value?) AS nothing"
                ) { row in
                    (try row.decode("it", as: Value.self), try row.string("type"), try row.cell("nothing").isNull)
                }
                #expect(answer.0 == value)
                #expect(answer.1 == type)
                #expect(answer.2)
            }
        }
    }

    @Test("Booleans are read back unchanged")
    func bools() async throws { try await roundTrip([true, false], as: "boolean") }

    @Test("Integers of every width are read back unchanged")
    func integers() async throws {
        try await roundTrip([Int.min, -1, 0, 1, .max], as: "bigint")
        try await roundTrip([Int64.min, .max], as: "bigint")
        try await roundTrip([Int32.min, .max], as: "integer")
        try await roundTrip([Int16.min, .max], as: "smallint")
    }

    @Test("Floating-point numbers are read back unchanged, infinities and NaN included")
    func floats() async throws {
        let doubles: [Double] = [
            0, -0.0, 1.5, .pi, .greatestFiniteMagnitude, .leastNonzeroMagnitude, .infinity, -.infinity,
        ]
        try await roundTrip(doubles, as: "double precision")
        try await roundTrip([Float(1.5), .infinity], as: "real")
        try await withFixture { fixture in
            let nan = try await fixture.pool.reads.one("SELECT \(Double.nan) AS it") { try $0.double("it") }
            #expect(nan.isNaN)
        }
    }

    @Test("Texts are read back unchanged")
    func texts() async throws {
        try await roundTrip(
            [
                "", " ", "plain", "'); DROP TABLE things; --", "Grüße 👩‍👩‍👧‍👦 \u{10FFFF}\n\t\"\\",
                String(repeating: "é", count: 100_000),
            ],
            as: "text"
        )
    }

    @Test("Bytes are read back unchanged")
    func bytes() async throws {
        try await roundTrip([[], [0], [UInt8](0...255)], as: "bytea")
        try await roundTrip([Data(), Data([0, 1, 255])], as: "bytea")
    }

    @Test("UUIDs are read back unchanged")
    func uuids() async throws { try await roundTrip([UUID(), UUID()], as: "uuid") }

    @Test("Dates are read back to the microsecond, infinities as the distant past and future")
    func dates() async throws {
        let dates = [
            Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 1_795_236_756.123456),
            Date(timeIntervalSince1970: -12_219_292_800), Date(timeIntervalSinceReferenceDate: 0),
        ]
        try await withFixture { fixture in
            for date in dates {
                let answer = try await fixture.pool.reads.one(
                    "SELECT \(date) AS it, extract(epoch FROM \(date))::float8 AS seconds"
                ) { (try $0.date("it"), try $0.double("seconds")) }
                #expect(abs(answer.0.timeIntervalSince(date)) < 0.000_001)
                #expect(abs(answer.1 - date.timeIntervalSince1970) < 0.000_001)
            }
            let never = Date(timeIntervalSinceReferenceDate: .infinity)
            let isInfinite = try await fixture.pool.reads.one("SELECT \(never) = 'infinity'::timestamptz AS it") {
                try $0.bool("it")
            }
            #expect(isInfinite)
            for (text, expected) in [("infinity", Date.distantFuture), ("-infinity", Date.distantPast)] {
                let date = try await fixture.pool.reads.one("SELECT \(text)::timestamptz AS it") { try $0.date("it") }
                #expect(date == expected)
            }
        }
    }

    @Test("JSON is read back unchanged")
    func json() async throws {
        try await roundTrip([PostgresJSON(text: #"{"a": [1, null, "é"]}"#), PostgresJSON(text: "null")], as: "jsonb")
        try await withFixture { fixture in
            let text = try await fixture.pool.reads.one(#"SELECT '{"a" :1}'::json AS it"#) { try $0.json("it") }
            #expect(text == #"{"a" :1}"#)
        }
    }

    @Test("Arrays are read back unchanged")
    func arrays() async throws {
        try await roundTrip([[], [1, 2, .max]], as: "bigint[]")
        try await roundTrip([[], ["", "a", "{\"x\"}"]], as: "text[]")
        try await roundTrip([[nil, "a", nil]], as: "text[]")
        try await roundTrip([[true, false]], as: "boolean[]")
        try await roundTrip([[UUID(), UUID()]], as: "uuid[]")
        try await roundTrip([[1.5, .infinity]], as: "double precision[]")
        try await roundTrip([[[UInt8]](), [[0, 1], []]], as: "bytea[]")
        try await roundTrip([[Date(timeIntervalSinceReferenceDate: 1)]], as: "timestamp with time zone[]")
    }

    @Test("Narrower columns are read as wider types")
    func narrowColumns() async throws {
        try await withFixture { fixture in
            let row = try await fixture.pool.reads.one(
                """
                SELECT 1::int2 AS small, 2::int4 AS middle, 1.5::float4 AS single, 'x'::varchar(9) AS short,
                    'y'::char(3) AS padded, current_schema AS name, ARRAY[1, 2]::int4[] AS list, NULL AS nothing
                """
            ) { row in
                try #expect(row.int("small") == 1)
                try #expect(row.int("middle") == 2)
                try #expect(row.double("single") == 1.5)
                try #expect(row.string("short") == "x")
                try #expect(row.string("padded") == "y  ")
                try #expect(row.string("name") == fixture.schema)
                try #expect(row.ints("list") == [1, 2])
                try #expect(row.optionalString("nothing") == nil)
                try #expect(row.decode(at: 0, as: Int.self) == 1)
                return row
            }
            #expect(row.count == 8)
        }
    }

    @Test(
        "A read of the wrong type, of NULL or of a missing column is an error that names the column",
        arguments: [
            ("SELECT 1.5::numeric AS amount", "is numeric"), ("SELECT 'x' AS amount", "is text"),
            ("SELECT NULL::int8 AS amount", "is NULL"), ("SELECT 5000000000 AS amount", "out of range for Int32"),
            ("SELECT 1 AS other", "is not in the result"), ("SELECT ARRAY[1] AS amount", "is int4[]"),
        ]
    )
    func wrongColumn(sql: String, problem: String) async throws {
        try await withFixture { fixture in
            let error = await #expect(throws: PostgresError.self) {
                try await fixture.pool.reads.one(PostgresQuery(sql: sql)) { try $0.int32("amount") }
            }

            #expect(error?.kind == .decoding(column: "amount"))
            #expect(error?.message.contains("amount") == true)
            #expect(error?.message.contains(problem) == true)
            #expect(error?.isUnavailable == false)
        }
    }

    @Test("A text with a NUL character is refused before it is sent")
    func nulCharacter() async throws {
        try await withFixture { fixture in
            let text = "a\0b"
            for query: PostgresQuery in [
                "SELECT \(1), \(text)", "SELECT \(1), \(["ok", text])", "SELECT \(1), \(PostgresJSON(text: text))",
            ] {
                let error = await #expect(throws: PostgresError.self) { try await fixture.pool.reads.run(query) }
                #expect(error?.kind == .encoding(parameter: 2))
                #expect(error?.message.contains("$2") == true)
            }
            try await #expect(fixture.pool.reads.one("SELECT \([0] as [UInt8]) AS it") { try $0.bytes("it") } == [0])
        }
    }

    @Test("Rows are counted, and a missing row is nil or an error")
    func rowCounts() async throws {
        try await withFixture { fixture in
            let db = fixture.pool.reads
            try await #expect(db.all("SELECT generate_series(1, 3) AS n") { try $0.int("n") } == [1, 2, 3])
            try await #expect(db.first("SELECT 1 AS n WHERE false") { try $0.int("n") } == nil)
            let error = await #expect(throws: PostgresError.self) { try await db.one("SELECT 1 WHERE false") { _ in } }
            #expect(error?.kind == .unexpectedRowCount(0))
            try await #expect(fixture.pool.run("CREATE TABLE n AS SELECT generate_series(1, 7)") == 7)
            try await #expect(fixture.pool.run("DELETE FROM n WHERE generate_series > 5") == 2)
        }
    }

    @Test("A large result arrives completely")
    func largeResult() async throws {
        try await withFixture { fixture in
            let lengths = try await fixture.pool.reads.all(
                "SELECT repeat('x', 10000) AS text FROM generate_series(1, 1000)"
            ) { try $0.string("text").utf8.count }
            #expect(lengths == Array(repeating: 10_000, count: 1_000))
        }
    }

    @Test("A large parameter arrives completely")
    func largeParameter() async throws {
        try await withFixture { fixture in
            let bytes = [UInt8](repeating: 7, count: 8_000_000)
            let responses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        try await fixture.pool.reads.one("SELECT length(\(bytes)) AS it") { try $0.int("it") }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(responses == Array(repeating: 8_000_000, count: 4))
        }
    }
}
