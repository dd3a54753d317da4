import Foundation
import Testing

@testable import PushProviders

@Suite("Text of notifications") struct TextTests {
    @Test("A string is encoded as JSON of the predicted length")
    func jsonString() throws {
        let text = "a\"b\\c\nd\te\u{0}\u{7f}é👩‍👩‍👧\u{2028}"
        var bytes: [UInt8] = []
        JSONStringEncoding.append(text, to: &bytes)

        #expect(try JSONDecoder().decode(String.self, from: Data(bytes)) == text)
        #expect(bytes.count == JSONStringEncoding.length(of: text) + 2)
    }

    @Test(
        "Text is cut between characters",
        arguments: [
            ("Hello, world", 1, "Hello, w…"), ("Hello, world", 12, ""), ("short", 0, "sh…"),
            // A family emoji is one character, and so is an e with its accent.
            ("ab👩‍👩‍👧", 1, "ab…"), ("abcde\u{301}f", 2, "abc…"), ("👩‍👩‍👧👩‍👩‍👧", 1, "👩‍👩‍👧…"),
            ("a\n\n\n\n", 2, "a\n…"), ("🇫🇷🇩🇪🇮🇹", 1, "🇫🇷🇩🇪…"),
        ]
    )
    func truncation(text: String, excess: Int, cut: String) {
        #expect(TextTruncation.cut(text, by: excess) == cut)
        #expect(JSONStringEncoding.length(of: cut) <= max(0, JSONStringEncoding.length(of: text) - excess))
    }

    private func encoded(_ message: PushMessage) -> [UInt8]? { APNsPayload(soundSuffix: "").encode(message) }

    private func alert(in payload: [UInt8]?) throws -> [String: String] {
        struct Payload: Decodable {
            struct APS: Decodable { var alert: [String: String] }
            var aps: APS
        }
        return try JSONDecoder().decode(Payload.self, from: Data(try #require(payload))).aps.alert
    }

    @Test("Localization keys replace the text unless the payload becomes too large")
    func localized() throws {
        var message = PushMessage.greeting
        message.localizedTitle = PushMessage.Localization(key: "follow.title")
        message.localizedBody = PushMessage.Localization(key: "like.two", arguments: ["Ana", "\"Bo\""])
        let text = String(decoding: try #require(encoded(message)), as: UTF8.self)
        let alert = #"{"alert":{"title-loc-key":"follow.title","loc-key":"like.two","loc-args":["Ana","\"Bo\""]}"#
        #expect(text.contains(alert))

        message.localizedBody?.arguments = [String(repeating: "x", count: 5_000)]
        #expect(try self.alert(in: encoded(message))["body"] == message.body)
    }

    @Test("A long body is cut no more than necessary", arguments: ["x", "é", "👩‍👩‍👧", "\"", "\n", "\u{1}", "界"])
    func longText(character: Character) throws {
        var message = PushMessage.greeting
        message.body = String(repeating: character, count: 5_000)
        let payload = try #require(encoded(message))

        #expect(payload.count <= 4_096)
        #expect(payload.count > 4_096 - JSONStringEncoding.length(of: String(character)))
        let body = try #require(try alert(in: payload)["body"])
        #expect(body.dropLast().allSatisfy { $0 == character })
        #expect(body.last == "…")
    }

    @Test("A payload of exactly 4,096 bytes is not cut")
    func fittingText() throws {
        var message = PushMessage.greeting
        let around = try #require(encoded(message)).count - "See you at nine".utf8.count
        message.body = String(repeating: "x", count: 4_096 - around)

        #expect(encoded(message)?.count == 4_096)
        #expect(try alert(in: encoded(message))["body"] == message.body)
    }

    @Test("The body is cut before the title, and data is kept whole")
    func truncationOrder() throws {
        var message = PushMessage.greeting
        message.title = String(repeating: "t", count: 3_000)
        message.body = String(repeating: "b", count: 3_000)
        message.data = ["mine": .string(String(repeating: "d", count: 2_000))]
        let payload = try #require(encoded(message))

        #expect(payload.count <= 4_096)
        let alert = try alert(in: payload)
        #expect(alert["body"] == "")
        #expect(alert["title"]?.hasPrefix("ttttt") == true)
        #expect(String(decoding: payload, as: UTF8.self).contains(String(repeating: "d", count: 2_000)))
    }

    @Test("Data over the limit of the push type is rejected")
    func longData() {
        var message = PushMessage.greeting
        message.data = ["mine": .string(String(repeating: "d", count: 4_090))]
        #expect(encoded(message) == nil)
        message.kind = .voip
        #expect(encoded(message)?.count == 4_090 + 68)
        message.data = ["mine": .string(String(repeating: "d", count: 5_115))]
        #expect(encoded(message) == nil)
    }

    @Test("The members of a JSON object keep their text")
    func members() throws {
        let object =
            #" { "a" : 12345678901234567890 , "b":{"c":[1, "}"]},"d\u0065":"x\"y" , "f":null,"g":-1.50e3,"h":[] } "#
        let members = try EncodedJSON.members(of: Data(object.utf8))

        #expect(
            members.mapValues(\.text) == [
                "a": "12345678901234567890", "b": #"{"c":[1, "}"]}"#, "de": #""x\"y""#, "f": "null", "g": "-1.50e3",
                "h": "[]",
            ]
        )
        #expect(throws: (any Error).self) { try EncodedJSON.members(of: Data("[1]".utf8)) }
        #expect(throws: (any Error).self) { try EncodedJSON.members(of: Data(#"{"a":}"#.utf8)) }
    }

    @Test("Only one well-formed JSON value is accepted")
    func invalidJSON() throws {
        #expect(EncodedJSON("{\"a\": [1, true]}")?.text == "{\"a\": [1, true]}")
        #expect(EncodedJSON("\"x\"") == .string("x"))
        #expect(try EncodedJSON(["b": 1, "a": 2]).text == #"{"a":2,"b":1}"#)
        for bad in ["", "{", "a", "1,2", "\"x", "{}{}"] { #expect(EncodedJSON(bad) == nil, "\(bad)") }
    }
}
