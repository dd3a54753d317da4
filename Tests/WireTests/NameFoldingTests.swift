import Testing
import Wire

@Suite("Name folding") struct NameFoldingTests {
    @Test(
        "Names that look the same fold to the same text",
        arguments: [
            ("Ada", "ada"), ("ÀDA", "àda"), ("STRASSE", "straße"), ("ﬁn", "FIN"), ("Ⅷ", "viii"), ("①", "1"), ("Å", "Å"),
            ("ΣΑΣ", "σας"), ("Ａｄａ", "ada"), ("a\u{200B}b", "ab"), ("ﷺ", "صلى الله عليه وسلم"), ("ẞ", "ss"), ("Ꭰ", "ꭰ"),
            ("\u{1E9B}\u{323}", "\u{1E69}"), ("\u{345}", "ι"),
        ]
    )
    func equalNames(_ one: String, _ other: String) {
        #expect(NameFolding.fold(one).utf8.elementsEqual(NameFolding.fold(other).utf8))
    }

    @Test("Folding keeps 30 combining marks in a row")
    func marks() {
        let folded = NameFolding.fold("é" + String(repeating: "\u{323}\u{200D}\u{301}", count: 50_000))
        #expect((1...40).contains(folded.unicodeScalars.count))
        #expect(NameFolding.fold(folded).utf8.elementsEqual(folded.utf8))
    }

    /// In a Turkish locale, lower-casing would make the first two equal and the others not.
    @Test("The locale makes no difference")
    func locale() {
        #expect(NameFolding.fold("I") != NameFolding.fold("ı"))
        #expect(NameFolding.fold("I") == NameFolding.fold("i"))
        #expect(NameFolding.fold("İ") == "i\u{307}")
        #expect(NameFolding.fold("TITLE") == "title")
    }

    @Test("Folding twice is folding once")
    func idempotent() {
        for value in stride(from: UInt32(1), to: 0x2_FFFF, by: 7) {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let once = NameFolding.fold("a\(scalar)\u{323}")
            #expect(NameFolding.fold(once).utf8.elementsEqual(once.utf8), "U+\(String(value, radix: 16))")
        }
    }
}
