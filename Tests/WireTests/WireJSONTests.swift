import Foundation
import Testing
import Wire

@Suite struct WireJSONTests {
    private struct Person: Codable, Equatable {
        struct Address: Codable, Equatable { var street: String }

        var name: String
        var age: Int?
        var tags: [String]?
        var address: Address?
    }

    private func error(for body: String) -> APIError? {
        do {
            _ = try WireJSON.decode(Person.self, from: Array(body.utf8))
            return nil
        } catch {
            return error as? APIError
        }
    }

    @Test(arguments: [
        (#"{}"#, "missing_field", "name"),
        (#"{"name":null}"#, "missing_field", "name"),
        (#"{"name":5}"#, "mistyped_field", "name"),
        (#"{"name":"a","age":"old"}"#, "mistyped_field", "age"),
        (#"{"name":"a","age":1.5}"#, "malformed_field", "age"),
        (#"{"name":"a","tags":["x",7]}"#, "mistyped_field", "tags[1]"),
        (#"{"name":"a","address":{}}"#, "missing_field", "address.street"),
        (#"{"name":"a\u0000b"}"#, "nul_character", "name"),
        (#"{"name":"a","address":{"street":"\u0000"}}"#, "nul_character", "address.street"),
        (#"{"name":"a","address":{"street":"a","\u0000":"b"}}"#, "nul_character", "address"),
        (#"{"tags":["x, [y]",{"a":[1,2]},"\ud800"],"name":"a"}"#, "lone_surrogate", "tags[2]"),
        (#"{"tags":[[],[{"a":{},"b":"\u0000"}]]}"#, "nul_character", "tags[1][0].b"),
        (#"{"name":"\ud800"}"#, "lone_surrogate", "name"),
        (#"{"name":"\udc00x"}"#, "lone_surrogate", "name"),
        (#"{"name":"\ud800\ud800"}"#, "lone_surrogate", "name"),
    ])
    func theFieldAtFaultIsNamed(body: String, code: String, field: String) {
        let error = error(for: body)

        #expect(error?.kind == .invalid)
        #expect(error?.code == code)
        #expect(error?.field == field)
    }

    @Test(arguments: ["", "{", "[]", "7", #"{"name":"a"} trailing"#, #"{"name":"unended"#, "\u{FEFF}x"])
    func whatIsNoObjectIsRefused(body: String) {
        #expect(error(for: body)?.kind == .invalid)
    }

    @Test func bytesThatAreNotUTF8AreRefused() {
        let body = Array(#"{"name":""#.utf8) + [0xC3, 0x28] + Array(#""}"#.utf8)

        #expect(throws: APIError.self) { try WireJSON.decode(Person.self, from: body) }
    }

    @Test func depthIsBoundedAt64() throws {
        func nested(_ levels: Int) -> [UInt8] {
            Array((String(repeating: "[", count: levels) + String(repeating: "]", count: levels)).utf8)
        }

        #expect(throws: Never.self) { try WireJSON.decode(JSONValue.self, from: nested(64)) }
        #expect(throws: APIError(.invalid, "too_deep", "JSON may be at most 64 levels deep")) {
            try WireJSON.decode(JSONValue.self, from: nested(65))
        }
        #expect(throws: APIError.self) { try WireJSON.decode(JSONValue.self, from: nested(100_000)) }
    }

    @Test func bracketsInTextCountForNothing() throws {
        let text = String(repeating: "[{\\\"", count: 200)

        let person = try WireJSON.decode(Person.self, from: Array(#"{"name":"\#(text)"}"#.utf8))

        #expect(person.name.count == 600)
    }

    @Test func surrogatePairsAndEscapesAreText() throws {
        let person = try WireJSON.decode(Person.self, from: Array(#"{"name":"\ud83d\ude00 \\u0000 \"x\" \/"}"#.utf8))

        #expect(person.name == "😀 \\u0000 \"x\" /")
    }

    @Test func anyJSONSurvivesARoundTrip() throws {
        let text = #"{"a":[1,2.5,true,null,"x"],"b":{"c":9007199254740991}}"#

        let value = try WireJSON.decode(JSONValue.self, from: Array(text.utf8))

        #expect(String(decoding: try value.compact(), as: UTF8.self) == text)
    }

    @Test func aPageHasItsThingsUnderTheirName() throws {
        let page = Page([Named(name: "x")], next: "c")

        let text = String(decoding: try WireJSON.encoder(sortedKeys: true).encode(page), as: UTF8.self)

        #expect(text == #"{"names":[{"name":"x"}],"next":"c"}"#)
        #expect(try WireJSON.decoder().decode(Page<Named>.self, from: Data(text.utf8)).things == [Named(name: "x")])
    }

    private struct Named: Codable, Equatable, Listed {
        static let pluralName = "names"
        var name: String
    }

    @Test func aProblemComesBackAsTheErrorItWas() throws {
        for kind in APIError.Kind.allCases {
            let error = APIError(kind, "some_code", "words", field: "field", retryAfter: 7)

            let problem = try WireJSON.decoder().decode(Problem.self, from: Problem(error, requestID: "r").encoded())

            #expect(problem.error(retryAfter: 7) == error)
        }
    }
}
