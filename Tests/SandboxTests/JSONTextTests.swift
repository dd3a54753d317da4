import Foundation
import Testing
import Wire

@testable import SandboxServer

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
}
