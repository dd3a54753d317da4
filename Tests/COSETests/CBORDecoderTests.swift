import COSE
import Foundation
import TestSupport
import Testing

/// Returns the bytes that hexadecimal text with optional spaces describes.
func hex(_ text: String) -> Data {
    var (bytes, rest) = (Data(), text.filter { $0 != " " }[...])
    while let byte = UInt8(rest.prefix(2), radix: 16), rest.count >= 2 {
        bytes.append(byte)
        rest = rest.dropFirst(2)
    }
    return bytes
}

@Suite("CBOR decoder") struct CBORDecoderTests {
    // The examples of RFC 8949, appendix A, that CTAP2 allows, and similar ones.
    private static let examples: [(String, CBORValue)] = [
        ("00", .unsigned(0)), ("17", .unsigned(23)), ("1818", .unsigned(24)), ("1903e8", .unsigned(1_000)),
        ("1a000f4240", .unsigned(1_000_000)), ("1bffffffffffffffff", .unsigned(.max)),
        ("20", .negative(0)), ("3903e7", .negative(999)), ("3bffffffffffffffff", .negative(.max)),
        ("f4", .bool(false)), ("f5", .bool(true)), ("f6", .null),
        ("40", .bytes(Data())), ("4401020304", .bytes(Data([1, 2, 3, 4]))),
        ("60", .text("")), ("62c3bc", .text("ü")), ("64f0908591", .text("\u{10151}")), ("80", .array([])),
        ("8201820203", .array([.unsigned(1), .array([.unsigned(2), .unsigned(3)])])),
        ("a201020304", .map([.unsigned(1): .unsigned(2), .unsigned(3): .unsigned(4)])),
        ("a16161820203", .map([.text("a"): .array([.unsigned(2), .unsigned(3)])])),
    ]

    @Test("The standard's examples decode and encode", arguments: examples)
    func standardExamples(bytes: String, value: CBORValue) throws {
        #expect(try CBORDecoder.decode(hex(bytes)) == value)
        #expect(Data(value.encoded) == hex(bytes))
    }

    @Test(
        "A truncated, non-canonical or unsupported value is rejected",
        arguments: [
            // No bytes, and values that end too early.
            "", "18", "19 00", "1b 00000000 000000", "43 0102", "63 6161", "81", "a1 01", "9a ffffffff 00",
            "bb ffffffffffffffff", "5b ffffffffffffffff 00",
            // Longer than necessary.
            "18 17", "19 00ff", "1a 0000ffff", "1b 00000000ffffffff", "58 01 00",
            // Indefinite lengths, reserved lengths, and a break without a start.
            "5f 41 00 ff", "7f ff", "9f ff", "bf ff", "1c", "1d", "1e", "ff",
            // Tags, floating point, undefined and other simple values.
            "c0 60", "d8 20 60", "f9 3c00", "fa 47c35000", "fb 3ff199999999999a", "f7", "e0", "f8 ff",
            // A duplicate key, and invalid UTF-8.
            "a2 01 02 01 03", "61 ff", "62 c328", "63 eda080",
            // Trailing bytes.
            "00 00", "80 80",
            // Nested too deeply.
            "81 81 81 81 81 81 81 80",
        ]
    )
    func unsupportedValues(_ bytes: String) {
        #expect(throws: CBORDecoder.Malformed.self) { try CBORDecoder.decode(hex(bytes)) }
    }

    @Test("The first value is decoded with its length, also from a slice")
    func trailingBytes() throws {
        let (value, length) = try CBORDecoder.decodeFirst(hex("a1 01 02 ff ff"))
        #expect(value[1]?.int == 2)
        #expect(length == 3)
        // The first index of a slice is not 0.
        #expect(try CBORDecoder.decode(hex("ff 82 01 02").dropFirst()) == .array([CBORValue(1), CBORValue(2)]))
    }

    @Test("Random bytes either decode to a value that encodes to them, or are rejected")
    func randomBytes() {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0..<40, using: &generator)).map { _ in
                UInt8.random(in: .min ... .max, using: &generator)
            }
            guard let value = try? CBORDecoder.decode(Data(bytes)) else { continue }
            // Each value has one encoding, except that the decoder accepts a map's keys in any order.
            if !bytes.contains(where: { $0 >> 5 == 5 }) { #expect(value.encoded == bytes) }
        }
    }
}
