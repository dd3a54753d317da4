import Testing

@testable import Messages

@Suite("Language tags") struct LanguageTagTests {
    @Test(
        "A well-formed tag is read in its canonical case",
        arguments: [
            ("en", "en"), ("PT-br", "pt-BR"), ("zh-hant-tw", "zh-Hant-TW"), ("es-419", "es-419"),
            ("sl-rozaj", "sl-rozaj"),
            ("de-1996", "de-1996"), ("en-US-u-CA-gregory", "en-US-u-ca-gregory"), ("zh-cmn-Hans", "zh-cmn-Hans"),
            ("en-x-a-b", "en-x-a-b"),
        ]
    )
    func wellFormed(text: String, canonical: String) {
        #expect(LanguageTag(text)?.description == canonical)
    }

    @Test(
        "A malformed or long tag is refused",
        arguments: [
            "", "e", "x-klingon", "en_US", "en-", "-en", "en--US", "en-USA1-", "en-u", "en-u-ca-u-nu", "123", "日本語",
            "en us", "en-US-", "abcdefghi", "en-" + String(repeating: "abcdefgh-", count: 4) + "x",
        ]
    )
    func malformed(text: String) {
        #expect(LanguageTag(text) == nil)
    }

    @Test("A tag falls back to its shorter forms, and never ends in a singleton")
    func fallbacks() {
        #expect(LanguageTag("zh-Hant-TW")?.fallbacks.map(\.description) == ["zh-Hant-TW", "zh-Hant", "zh"])
        #expect(LanguageTag("en-u-ca-gregory")?.fallbacks.map(\.description) == ["en-u-ca-gregory", "en-u-ca", "en"])
    }
}

@Suite("Accept-Language") struct AcceptLanguageTests {
    @Test(
        "Languages have the order of their quality, then of the header",
        arguments: [
            ("pt-BR, pt;q=0.9, en;q=0.8", ["pt-BR", "pt", "en"]), ("en;q=0.1,fr", ["fr", "en"]),
            ("de,fr", ["de", "fr"]), ("de;q=0.5 , fr ; q=0.75", ["fr", "de"]), ("fr;q=0, de;q=0.001", ["de"]),
            ("*, de;q=0.5", ["de"]), ("de, de;q=0.1", ["de"]), ("", []), ("de;q=2, fr;q=x, it;q=0.5000, ja;q=-1", []),
            (",,;;q=1,", []), ("de;q=1.", ["de"]), ("de;q=1.001", []),
        ]
    )
    func order(header: String, languages: [String]) {
        #expect(AcceptLanguage.languages(in: header).map(\.description) == languages)
    }

    @Test("A long header is read up to a limit")
    func bounded() {
        let alphabet = "abcdefghijklmnopqrstuvwxyz"
        let many = alphabet.flatMap { first in alphabet.map { "\(first)\($0)" } }.joined(separator: ",")
        #expect(AcceptLanguage.languages(in: many).count == AcceptLanguage.maximumLanguages)
        #expect(AcceptLanguage.languages(in: String(repeating: " ", count: 2_000) + "de").isEmpty)
    }
}

@Suite("Plural rules") struct PluralRulesTests {
    @Test(
        "Each number has the category that CLDR gives it",
        arguments: [
            (PluralRules.invariant, "other other other other other other other"),
            (.one, "other one other other other other other"),
            (.oneAndMillions, "other one other other other other many"),
            (.zeroAndOne, "one one other other other other other"),
            (.zeroAndOneAndMillions, "one one other other other other many"),
            (.eastSlavic, "many one few many many one many"),
            (.southSlavic, "other one few other other one other"),
            (.polish, "many one few many many many many"),
            (.czech, "other one few other other other other"),
            (.slovenian, "other one two other other other other"),
            (.lithuanian, "other one few few other one other"),
            (.latvian, "zero one other other zero one zero"),
            (.romanian, "few one few few few other other"),
            (.hebrew, "other one two other other other other"),
            (.arabic, "zero one two few many many other"),
        ]
    )
    func categories(rules: PluralRules, expected: String) {
        let numbers: [Int64] = [0, 1, 2, 5, 11, 21, 1_000_000]
        let categories = numbers.map { rules.category(of: $0) }
        #expect(categories.map(\.rawValue).joined(separator: " ") == expected)
        #expect(Set(categories).isSubset(of: rules.categories))
    }

    @Test("The smallest and the largest number have a category", arguments: PluralRules.allCases)
    func extremes(rules: PluralRules) {
        for number in [Int64.min, -1, .max] { #expect(rules.categories.contains(rules.category(of: number))) }
    }
}
