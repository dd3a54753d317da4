import CoreFoundation
import Foundation
import Testing
import Wire

/// JSON as in RFC 8259, compared with Foundation's parser.
@Suite("JSON parser") struct JSONParserTests {
    @Test(
        "Valid JSON is read like Foundation reads it",
        arguments: [
            "null", "true", " [ ] ", "{}", #"{"a":[1,-2,0,3.5,15e-1,-0.25E-2],"b":{"c":""}}"#,
            #""\u00fc\ud83c\udfb9\n\"\\\/""#,
            #""ü 🎹""#, "9223372036854775807", #"{"a":1,"b":null}"#, "\t{\r\n}\n", "[[[[]]]]", #"{"":""}"#,
        ]
    )
    func validJSON(text: String) throws {
        let read = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
        let expected = JSONValue(foundation: read)

        #expect(try JSONParser.parse(Array(text.utf8)) == expected)
    }

    @Test(
        "Malformed JSON is refused",
        arguments: [
            "", " ", "nul", "truee", "[1,]", "[,1]", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{a:1}"#, "01", "-",
            "1.",
            ".5", "1e", "+1", "[1 2]", #"""#, "\"\n\"", #""\x""#, #""\u12""#, #""\ud83c""#, #""\udfb9""#, #""\ud83cx""#,
            "{", "[",
            "1e999", "'a'", "[]]",
        ]
    )
    func malformedJSON(text: String) {
        #expect(throws: JSONParser.SyntaxError.self) { try JSONParser.parse(Array(text.utf8)) }
    }

    @Test("Nesting is limited to 64 levels, and invalid UTF-8 is refused")
    func limits() throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        }

        #expect(throws: Never.self) { try JSONParser.parse(nested(64)) }
        #expect(throws: JSONParser.SyntaxError.self) { try JSONParser.parse(nested(65)) }
        #expect(throws: JSONParser.SyntaxError.self) {
            try JSONParser.parse([UInt8(ascii: "\""), 0xFF, UInt8(ascii: "\"")])
        }
    }

    /// Some writers cut a text off in the middle of a character.
    @Test(
        "In repairing mode, invalid Unicode is replaced",
        arguments: [
            (#""a\ud83c""#, "a\u{FFFD}"), (#""\ud83cx""#, "\u{FFFD}x"), (#""\ud83c\n""#, "\u{FFFD}\n"),
            (#""\udfb9\ud83c\udfb9""#, "\u{FFFD}🎹"), (#""a\u0000b""#, "a\u{FFFD}b"),
        ]
    )
    func invalidUnicode(text: String, repaired: String) throws {
        #expect(try JSONParser.parse(Array(text.utf8), repairing: true) == .string(repaired))
    }

    @Test("In repairing mode, invalid UTF-8 is replaced and other errors are refused")
    func repairing() throws {
        let cut: [UInt8] = [UInt8(ascii: "\""), 0x61, 0xC3, UInt8(ascii: "\"")]

        #expect(try JSONParser.parse(cut, repairing: true) == .string("a\u{FFFD}"))
        #expect(throws: JSONParser.SyntaxError.self) { try JSONParser.parse(Array(#""\ud8""#.utf8), repairing: true) }
        #expect(throws: JSONParser.SyntaxError.self) { try JSONParser.parse(Array("[1,]".utf8), repairing: true) }
    }

    @Test("A number of more than 512 characters is refused, and so are more than 128 combining marks in a row")
    func longRuns() throws {
        func text(_ part: String, _ count: Int) -> [UInt8] {
            Array(("\"" + String(repeating: part, count: count) + "\"").utf8)
        }

        #expect(throws: Never.self) { try JSONParser.parse(Array(String(repeating: "7", count: 300).utf8)) }
        #expect(throws: JSONParser.SyntaxError.self) {
            try JSONParser.parse(Array(String(repeating: "7", count: 513).utf8))
        }
        #expect(throws: Never.self) { try JSONParser.parse(text("\u{301}", 128)) }
        #expect(throws: JSONParser.SyntaxError.self) { try JSONParser.parse(text("\u{301}\u{316}", 65)) }
        #expect(throws: JSONParser.SyntaxError.self) { try JSONParser.parse(text("\\u0301", 129)) }
        #expect(throws: JSONParser.SyntaxError.self) { try JSONParser.parse(text("\u{F73}", 129)) }
        #expect(throws: Never.self) { try JSONParser.parse(text("e\u{301}\u{316}", 2_000)) }
        #expect(try JSONParser.parse(text("\u{301}", 200), repairing: true).text?.unicodeScalars.count == 128)
        // Stored text is read without the limit.
        let stored = try WireJSON.decoder().decode(String.self, from: text("\u{301}", 200))
        #expect(stored.unicodeScalars.count == 200)
    }

    @Test("Text from another source has the limits of a JSON string")
    func otherText() throws {
        func code(of text: String) -> String? {
            do {
                try APIError.check(text, of: "name")
                return nil
            } catch {
                let refusal = error as? APIError
                #expect(refusal?.field == "name")
                return refusal?.code
            }
        }

        #expect(code(of: "e" + String(repeating: "\u{301}", count: 128)) == nil)
        #expect(code(of: String(repeating: "e\u{301}", count: 2_000)) == nil)
        #expect(code(of: "e" + String(repeating: "\u{301}\u{316}", count: 65)) == "too_many_combining_marks")
        #expect(code(of: "a\0b") == "nul_character")
        #expect(code(of: "a\0\u{301}") == "nul_character")
    }
}

extension JSONValue {
    /// The value that Foundation has read.
    fileprivate init(foundation value: Any) {
        switch value {
        case let text as String: self = .string(text)
        case let values as [Any]: self = .array(values.map { JSONValue(foundation: $0) })
        case let fields as [String: Any]: self = .object(fields.mapValues { JSONValue(foundation: $0) })
        case let number as NSNumber where CFGetTypeID(number) == CFBooleanGetTypeID(): self = .bool(number.boolValue)
        case let number as NSNumber:
            self = Int64(exactly: number).map(JSONValue.integer) ?? .number(number.doubleValue)
        default: self = .null
        }
    }
}
