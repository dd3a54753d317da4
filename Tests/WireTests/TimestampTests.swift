import Foundation
import Testing
import Wire

@Suite("Timestamps") struct TimestampTests {
    @Test("Every millisecond is read back")
    func roundTrip() throws {
        for millisecond in stride(from: 1_700_000_000_000, to: 1_700_000_002_000, by: 1) {
            let date = Date(timeIntervalSince1970: Double(millisecond) / 1_000)

            let read = try #require(Timestamp.date(from: Timestamp.string(from: date)))

            #expect((read.timeIntervalSince1970 * 1_000).rounded() == Double(millisecond))
        }
    }

    @Test("A time is UTC with milliseconds")
    func format() {
        #expect(Timestamp.string(from: Date(timeIntervalSince1970: 0)) == "1970-01-01T00:00:00.000Z")
        #expect(Timestamp.string(from: Date(timeIntervalSince1970: 1_753_000_000.5)) == "2025-07-20T08:26:40.500Z")
    }

    @Test(
        "Any offset and fraction is read",
        arguments: [
            ("2025-07-20T08:26:40Z", 1_753_000_000.0),
            ("2025-07-20T10:26:40+02:00", 1_753_000_000),
            ("2025-07-20t08:26:40.25z", 1_753_000_000.25),
            ("2025-07-20T08:26:40.123456Z", 1_753_000_000.123456),
        ]
    )
    func offsetsAndFractions(text: String, seconds: Double) throws {
        let date = try #require(Timestamp.date(from: text))

        #expect(abs(date.timeIntervalSince1970 - seconds) < 0.001)
    }

    @Test(
        "A malformed time is refused",
        arguments: ["", "yesterday", "2025-07-20", "2025-13-01T00:00:00Z", "1753000000", "2025-07-20T08:26:40"]
    )
    func malformedTimestamp(text: String) {
        #expect(Timestamp.date(from: text) == nil)
    }
}

@Suite("Base64url") struct Base64URLTests {
    @Test("Bytes are read back")
    func base64RoundTrip() {
        for count in 0..<70 {
            let bytes = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 * 37) })

            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
        }
    }

    @Test("Only the canonical spelling is read", arguments: ["YQ==", "YR", "Y Q", "YQ\n", "+w", "/w", "Y", "é"])
    func canonicalSpelling(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }
}
