import Foundation
import Testing
import Wire

/// JSON of any shape, compared with Foundation's encoder.
@Suite("JSON values") struct JSONValueTests {
    @Test("The compact form is what the encoder writes")
    func compact() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            let value = Self.value(depth: 4, &random)

            #expect(try value.compact() == WireJSON.encoder(sortedKeys: true).encode(value))
        }
    }

    @Test(
        "Special characters and extreme numbers are written like the encoder writes them",
        arguments: [
            JSONValue.string("\u{0}\u{1}\u{8}\t\n\u{B}\u{C}\r\u{1F}\"\\/\u{7F}é\u{2028}🎹"),
            .number(1), .number(-0.0), .number(1e20), .number(1.5e-7),
            .number(.leastNonzeroMagnitude), .number(.greatestFiniteMagnitude),
            .integer(.min), .integer(.max), .object([:]), .array([]),
        ]
    )
    func edgeCases(value: JSONValue) throws {
        #expect(try value.compact() == WireJSON.encoder(sortedKeys: true).encode(value))
    }

    @Test("Keys are sorted by their characters")
    func keyOrder() throws {
        let keys = ["", "B", "a10", "a2", "é", "e\u{301}x", "🎹"]
        let value = JSONValue.object(Dictionary(uniqueKeysWithValues: keys.map { ($0, .null) }))

        let text = String(decoding: try value.compact(), as: UTF8.self)

        #expect(text == "{" + keys.map { "\"\($0)\":null" }.joined(separator: ",") + "}")
    }

    @Test("A number that JSON cannot represent is refused", arguments: [Double.infinity, -.infinity, .nan])
    func notANumber(number: Double) {
        #expect(throws: EncodingError.self) { try JSONValue.array([.number(number)]).compact() }
    }

    private static func value(depth: Int, _ random: inout SystemRandomNumberGenerator) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 7 : 5), using: &random) {
        case 0: .null
        case 1: .bool(.random(using: &random))
        case 2: .integer(.random(in: .min ... .max, using: &random))
        case 3: .number(.random(in: -1e6...1e6, using: &random))
        case 4: .string(text(&random))
        case 5: .array((0..<Int.random(in: 0..<5, using: &random)).map { _ in value(depth: depth - 1, &random) })
        default:
            .object(
                Dictionary(
                    (0..<Int.random(in: 0..<6, using: &random)).map { _ in
                        (text(&random), value(depth: depth - 1, &random))
                    }
                ) { first, _ in first }
            )
        }
    }

    private static func text(_ random: inout SystemRandomNumberGenerator) -> String {
        let scalars = (0..<Int.random(in: 0..<12, using: &random)).compactMap { _ in
            Unicode.Scalar(UInt32.random(in: 0..<0x250, using: &random))
        }
        return String(String.UnicodeScalarView(scalars))
    }
}
