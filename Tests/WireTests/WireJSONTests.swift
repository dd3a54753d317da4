import Foundation
import Testing
import Wire

@Suite("JSON on the wire") struct WireJSONTests {
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

    @Test(
        "An error names the invalid field",
        arguments: [
            (#"{}"#, "missing_field", "name"),
            (#"{"name":null}"#, "missing_field", "name"),
            (#"{"name":5}"#, "invalid_type", "name"),
            (#"{"name":"a","age":"old"}"#, "invalid_type", "age"),
            (#"{"name":"a","age":1.5}"#, "malformed_field", "age"),
            (#"{"name":"a","tags":["x",7]}"#, "invalid_type", "tags[1]"),
            (#"{"name":"a","address":{}}"#, "missing_field", "address.street"),
            (#"{"name":"a\u0000b"}"#, "nul_character", "name"),
            (#"{"name":"a","address":{"street":"\u0000"}}"#, "nul_character", "address.street"),
            (#"{"name":"a","address":{"street":"a","\u0000":"b"}}"#, "nul_character", "address"),
            (#"{"tags":["x, [y]",{"a":[1,2]},"\ud800"],"name":"a"}"#, "lone_surrogate", "tags[2]"),
            (#"{"tags":[[],[{"a":{},"b":"\u0000"}]]}"#, "nul_character", "tags[1][0].b"),
            (#"{"name":"\ud800"}"#, "lone_surrogate", "name"),
            (#"{"name":"\udc00x"}"#, "lone_surrogate", "name"),
            (#"{"name":"\ud800\ud800"}"#, "lone_surrogate", "name"),
        ]
    )
    func fieldNames(body: String, code: String, field: String) {
        let error = error(for: body)

        #expect(error?.kind == .invalid)
        #expect(error?.code == code)
        #expect(error?.field == field)
    }

    @Test(
        "A body that is no object is an error",
        arguments: ["", "{", "[]", "7", #"{"name":"a"} trailing"#, #"{"name":"unended"#, "\u{FEFF}x"]
    )
    func notAnObject(body: String) {
        #expect(error(for: body)?.kind == .invalid)
    }

    private enum Color: String, Decodable, CaseIterable { case red, green }
    private enum Size: String, Decodable { case small, large }

    private struct Order: Decodable {
        struct Line: Decodable {
            var article: String
            var count: Int
        }

        var id: Int
        var color: Color
        var size: Size
        var lines: [Line]
        var at: Date
        var note: String?
        var meta: JSONValue
    }

    private struct Contact: Decodable {
        var name: String
        var phone: String

        private enum CodingKeys: CodingKey { case name, phone }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            name = try container.decode(String.self, forKey: .name)
            phone = try container.decode(String.self, forKey: .phone)
            guard !name.isEmpty else {
                throw APIError.invalid("name", "A name has 1 to 10 letters.", code: "name_length")
            }
        }
    }

    private func faults<Value: Decodable>(_ type: Value.Type, _ body: String) -> [String] {
        do {
            _ = try WireJSON.decode(type, from: Array(body.utf8))
            return []
        } catch {
            guard let error = error as? APIError else { return ["\(error)"] }
            let first = "\(error.code) \(error.field ?? "-")"
            return [first] + error.errors.map { "\($0.code) \($0.field)" }
        }
    }

    @Test("An error lists all missing or invalid fields; its own field is the first of them")
    func allFields() {
        let line = #"{"article":"tea","count":1}"#
        let rest = #""color":"red","size":"small","at":"2026-11-21T07:10:00.000Z","meta":1"#
        #expect(
            faults(Order.self, #"{"id":"x","lines":[{"article":7},\#(line),{"count":1.5}],\#(rest)}"#) == [
                "invalid_type id", "invalid_type id", "invalid_type lines[0].article",
                "missing_field lines[0].count", "missing_field lines[2].article", "malformed_field lines[2].count",
            ]
        )
        #expect(
            faults(Order.self, #"{"lines":[\#(line)],"size":"small","note":7}"#) == [
                "missing_field id", "missing_field id", "missing_field color", "missing_field at",
                "invalid_type note", "missing_field meta",
            ]
        )
        #expect(faults(Order.self, #"{"id":1,"lines":[\#(line)],\#(rest)}"#).isEmpty)
        #expect(faults(Order.self, #"{"id":1,"lines":7,\#(rest)}"#) == ["invalid_type lines"])
    }

    @Test("The search for errors ends at an invalid value that no placeholder can replace; earlier errors are reported")
    func noPlaceholder() {
        let found = faults(Order.self, #"{"id":"x","color":"red","size":"huge"}"#)
        #expect(found == ["invalid_type id", "invalid_type id", "malformed_field size"])
    }

    @Test("The placeholder for an invalid value causes no further error")
    func placeholders() {
        #expect(faults(Contact.self, "{}") == ["missing_field name", "missing_field name", "missing_field phone"])
        #expect(faults(Contact.self, #"{"name":"","phone":"1"}"#) == ["name_length name"])
        #expect(faults([Contact].self, #"[{"name":"a"},{"phone":7}]"#).count == 4)
    }

    @Test("An error lists at most 32 fields")
    func manyFields() {
        let elements = Array(repeating: "7", count: 5_000).joined(separator: ",")
        let found = faults([String].self, "[\(elements)]")
        #expect(found.count == 1 + APIError.maximumErrors)
        let name = String(repeating: "x", count: 2_000)
        let fields = (0..<100).map { #""\#(name)\#($0)":7"# }.joined(separator: ",")
        #expect(faults([String: String].self, "{\(fields)}").joined().utf8.count < 20_000)
    }

    @Test(
        "A syntax error names its position, and contains nothing of the body",
        arguments: [
            (#"{"a": 1,}"#, "line 1, column 9"), ("{\n  \"ä\": x\n}", "line 2, column 8"),
            ("[1, 2", "line 1, column 6"),
            ("{\"a\": 1}\n\n true", "line 3, column 2"), ("{\"secret", "line 1, column 9"), ("nul", "line 1, column 4"),
        ]
    )
    func position(body: String, place: String) {
        let error = error(for: body)
        #expect(error?.code == "malformed_body")
        #expect(error?.message.hasSuffix(place) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("secret") == false)
    }

    @Test("Errors of several checks are one error, which names each field once")
    func collected() throws {
        var faults = FieldErrors()
        #expect(try faults.collect { 7 } == 7)
        let missing: Int? = try faults.collect { throw APIError.missing("a") }
        #expect(missing == nil)
        faults.add(.missing("b"))
        faults.add(.invalid("a", "again"))
        let error = #expect(throws: APIError.self) { try faults.finish() }
        #expect(error?.field == "a")
        #expect(error?.errors.map(\.field) == ["a", "b"])
        #expect(throws: APIError.internal) { _ = try faults.collect { () throws -> Int in throw APIError.internal } }
        #expect(throws: Never.self) { try FieldErrors().finish() }
    }

    @Test("Bytes that are not UTF-8 are refused")
    func invalidUTF8() {
        let body = Array(#"{"name":""#.utf8) + [0xC3, 0x28] + Array(#""}"#.utf8)

        #expect(throws: APIError.self) { try WireJSON.decode(Person.self, from: body) }
    }

    @Test("Nesting is limited to 64 levels")
    func depth() throws {
        func nested(_ levels: Int) -> [UInt8] {
            Array((String(repeating: "[", count: levels) + String(repeating: "]", count: levels)).utf8)
        }

        #expect(throws: Never.self) { try WireJSON.decode(JSONValue.self, from: nested(64), limits: .free) }
        #expect(throws: APIError(.invalid, "too_deep", "JSON may be at most 64 levels deep")) {
            try WireJSON.decode(JSONValue.self, from: nested(65), limits: .free)
        }
        #expect(throws: APIError.self) { try WireJSON.decode(JSONValue.self, from: nested(100_000)) }
    }

    @Test("Brackets in text do not count as nesting")
    func bracketsInText() throws {
        let text = String(repeating: "[{\\\"", count: 200)

        let person = try WireJSON.decode(Person.self, from: Array(#"{"name":"\#(text)"}"#.utf8))

        #expect(person.name.count == 600)
    }

    @Test("Surrogate pairs and escapes are read")
    func escapes() throws {
        let person = try WireJSON.decode(Person.self, from: Array(#"{"name":"\ud83d\ude00 \\u0000 \"x\" \/"}"#.utf8))

        #expect(person.name == "😀 \\u0000 \"x\" /")
    }

    @Test("Any JSON is decoded and encoded unchanged")
    func roundTrip() throws {
        let text = #"{"a":[1,2.5,true,null,"x"],"b":{"c":9007199254740991}}"#

        let value = try WireJSON.decode(JSONValue.self, from: Array(text.utf8))

        #expect(String(decoding: try value.compact(), as: UTF8.self) == text)
    }

    @Test("A page is encoded with its items under their plural name")
    func page() throws {
        let page = Page([Named(name: "x")], next: "c")

        let text = String(decoding: try WireJSON.encoder(sortedKeys: true).encode(page), as: UTF8.self)

        #expect(text == #"{"names":[{"name":"x"}],"next":"c"}"#)
        #expect(try WireJSON.decoder().decode(Page<Named>.self, from: Data(text.utf8)).items == [Named(name: "x")])
    }

    private struct Named: Codable, Equatable, PageItem {
        static let pluralName = "names"
        var name: String
    }

    @Test("A problem document is decoded to the error from which it was encoded")
    func problem() throws {
        for kind in APIError.Kind.allCases {
            let error = APIError(kind, "some_code", "words", field: "field", retryAfter: 7)

            let problem = try WireJSON.decoder().decode(Problem.self, from: Problem(error, requestID: "r").encoded())

            #expect(problem.error(retryAfter: 7) == error)
            #expect(problem.errors == nil)
        }
        let both = APIError.missing("a").listing([.missing("b")])
        let problem = try WireJSON.decoder().decode(Problem.self, from: Problem(both, requestID: "r").encoded())
        #expect(problem.error() == both)
        #expect(problem.errors?.map(\.field) == ["a", "b"])
    }

    private struct Free: Decodable {
        var meta: JSONValue?
        var data: JSONValue?
        var list: [Free]?
        var other: JSONValue?
    }

    private func code(_ body: String, _ limits: JSONLimits) -> String? {
        do {
            _ = try WireJSON.decode(Free.self, from: Array(body.utf8), limits: limits)
            return nil
        } catch {
            return (error as? APIError).map { "\($0.code) \($0.field ?? "-")" }
        }
    }

    private func nested(_ levels: Int) -> String {
        String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
    }

    @Test("Only a field whose structure the client chooses may be nested 64 levels deep")
    func depthOfFields() {
        #expect(code(#"{"other":\#(nested(15))}"#, .body) == nil)
        #expect(code(#"{"other":\#(nested(16))}"#, .body) == "too_deep other")
        #expect(code(#"{"meta":\#(nested(63))}"#, .body) == nil)
        #expect(code(#"{"meta":\#(nested(64))}"#, .body) == "too_deep meta")
        #expect(code(#"{"data":\#(nested(60)),"meta":1}"#, .body) == nil)
        #expect(code(#"{"list":[{"data":\#(nested(40))},{"meta":{}}]}"#, .body) == nil)
        #expect(code(#"{"meta":1,"other":\#(nested(20))}"#, .body) == "too_deep other")
        #expect(code(#"{"list":[{"meta":{}}],"other":\#(nested(20))}"#, .body) == "too_deep other")
        #expect(code(#"{"other":"meta","list":\#(nested(20))}"#, .body) == "too_deep list")
    }

    @Test("The number of values and bytes is limited")
    func valuesAndBytes() {
        let limits = JSONLimits(bytes: 400, values: 20, depth: 8)

        #expect(code(#"{"other":[\#(Array(repeating: "1", count: 18).joined(separator: ","))]}"#, limits) == nil)
        let many = Array(repeating: "1", count: 19).joined(separator: ",")
        #expect(code(#"{"other":[\#(many)]}"#, limits) == "too_many_values other")
        #expect(code(#"{"other":"[,{,[,[,[,[,[,[,[,[,[,[,[,[,[,[,[,["}"#, limits) == nil)
        #expect(code(#"{"other":"\#(String(repeating: "x", count: 400))"}"#, limits) == "body_too_large -")
    }

    @Test("The size limit of a field applies to its compact JSON and is checked before decoding")
    func sizeOfFields() {
        let limits = JSONLimits.body.limiting(["meta": 20])

        let padding = String(repeating: "x", count: 90)
        #expect(code(#"{"meta":  {  "a" : "\u0061\n\u0062"  } , "other":"\#(padding)"}"#, limits) == nil)
        #expect(code(#"{"meta":{"a":"0123456789012"}}"#, limits) == "meta_too_long meta")
        // It is refused although it is not JSON, so it was not decoded.
        #expect(code(#"{"meta":{"a":"0123456789012",,,"#, limits) == "meta_too_long meta")
        #expect(code(#"{"other":{"meta":[1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0]}}"#, limits) == "meta_too_long meta")
        #expect(code(#"{"meta":{},"other":{"a":"0123456789012345678901234"}}"#, limits) == nil)
    }

    @Test("A whole number may have a fraction of zero and must fit its type")
    func wholeNumbers() throws {
        struct Numbers: Decodable {
            var whole: Int64?
            var byte: UInt8?
            var real: Double?
        }
        func read(_ body: String) throws -> Numbers { try WireJSON.decode(Numbers.self, from: Array(body.utf8)) }

        #expect(try read(#"{"whole":3.0,"byte":255,"real":2}"#).whole == 3)
        #expect(try read(#"{"real":2}"#).real == 2)
        for body in [#"{"byte":256}"#, #"{"byte":-1}"#, #"{"whole":1e30}"#, #"{"whole":0.5}"#] {
            #expect(throws: APIError.self) { try read(body) }
        }
    }

    @Test("Decoding a JSONValue fails with any decoder other than WireJSON.decoder()")
    func foundation() {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(JSONValue.self, from: Data("[1]".utf8)) }
    }

    @Test("An error repeats at most 255 characters of a name that a client chose")
    func longNames() {
        let name = String(repeating: "n", count: 5_000)

        let error = #expect(throws: APIError.self) {
            try WireJSON.decode([String: Int].self, from: Array(#"{"\#(name)":"x"}"#.utf8))
        }
        #expect(error?.field?.count == 255)
        let nul = #expect(throws: APIError.self) {
            try WireJSON.decode([String: Int].self, from: Array(#"{"\#(name)":"\u0000"}"#.utf8))
        }
        #expect(nul?.field?.count == 255)
    }
}
