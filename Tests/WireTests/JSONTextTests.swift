import Foundation
import Testing
import Wire

/// JSON as RFC 8259 has it, beside Foundation's reading of it.
@Suite struct JSONTextTests {
    @Test(arguments: [
        "null", "true", " [ ] ", "{}", #"{"a":[1,-2,0,3.5,15e-1,-0.25E-2],"b":{"c":""}}"#,
        #""\u00fc\ud83c\udfb9\n\"\\\/""#,
        #""ü 🎹""#, "9223372036854775807", #"{"a":1,"b":null}"#, "\t{\r\n}\n", "[[[[]]]]", #"{"":""}"#,
    ])
    func whatIsJSONIsReadAsFoundationReadsIt(text: String) throws {
        let expected = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))

        #expect(try JSONText.parse(Array(text.utf8)) == expected)
    }

    @Test(arguments: [
        "", " ", "nul", "truee", "[1,]", "[,1]", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{a:1}"#, "01", "-", "1.",
        ".5", "1e", "+1", "[1 2]", #"""#, "\"\n\"", #""\x""#, #""\u12""#, #""\ud83c""#, #""\udfb9""#, #""\ud83cx""#,
        "{", "[",
        "1e999", "'a'", "[]]",
    ])
    func whatIsNotJSONIsRefused(text: String) {
        #expect(throws: JSONText.Flaw.self) { try JSONText.parse(Array(text.utf8)) }
    }

    @Test func depthAndBytesAreBounded() throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        }

        #expect(throws: Never.self) { try JSONText.parse(nested(64)) }
        #expect(throws: JSONText.Flaw.self) { try JSONText.parse(nested(65)) }
        #expect(throws: JSONText.Flaw.self) { try JSONText.parse([UInt8(ascii: "\""), 0xFF, UInt8(ascii: "\"")]) }
    }

    /// As those write them who cut a text off in the middle of a character.
    @Test(arguments: [
        (#""a\ud83c""#, "a\u{FFFD}"), (#""\ud83cx""#, "\u{FFFD}x"), (#""\ud83c\n""#, "\u{FFFD}\n"),
        (#""\udfb9\ud83c\udfb9""#, "\u{FFFD}🎹"), (#""a\u0000b""#, "a\u{FFFD}b"),
    ])
    func whatIsNoUnicodeIsRepairedIfAsked(text: String, repaired: String) throws {
        #expect(try JSONText.parse(Array(text.utf8), repairing: true) == .string(repaired))
    }

    @Test func repairingTakesBytesThatAreNoUTF8ButNothingElse() throws {
        let cut: [UInt8] = [UInt8(ascii: "\""), 0x61, 0xC3, UInt8(ascii: "\"")]

        #expect(try JSONText.parse(cut, repairing: true) == .string("a\u{FFFD}"))
        #expect(throws: JSONText.Flaw.self) { try JSONText.parse(Array(#""\ud8""#.utf8), repairing: true) }
        #expect(throws: JSONText.Flaw.self) { try JSONText.parse(Array("[1,]".utf8), repairing: true) }
    }
}
