import Wire

/// A well-formed language tag (BCP 47, RFC 5646, section 2.1) in its canonical case, for example `pt-BR` or `zh-Hant-TW`.
///
/// Tags that begin with `x-` or `i-` name no language that texts can be chosen by, so they are not accepted.
package struct LanguageTag: Hashable, Sendable, CustomStringConvertible {
    /// The bytes of the longest accepted tag (RFC 5646, section 4.4.1, recommends room for 35).
    package static let maximumLength = 35

    /// English, the language of every built-in text.
    package static let english = LanguageTag(parts: ["en"])

    private let parts: [String]

    private init(parts: [String]) {
        self.parts = parts
    }

    /// Parses a tag; nil if it is malformed or longer than `maximumLength`.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.maximumLength else { return nil }
        let subtags = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        var grammar = Grammar(subtags.map { Substring($0) })
        guard let parts = grammar.parse() else { return nil }
        self.parts = parts
    }

    /// Parses the tag in a request's field.
    ///
    /// - Throws: `malformed_language`.
    package init(_ text: String, field: String) throws {
        guard let tag = LanguageTag(text) else {
            let limit = "a language tag (BCP 47) of at most \(Self.maximumLength) characters, for example pt-BR"
            throw APIError.invalid(field, "\"\(field)\" must be \(limit)", code: "malformed_language")
        }
        self = tag
    }

    /// The primary language, for example `pt` of `pt-BR`.
    package var language: String { parts[0] }

    package var description: String { parts.joined(separator: "-") }

    /// The tag and its ever shorter beginnings, as a lookup tries them (RFC 4647, section 3.4): `pt-BR`, `pt`.
    package var fallbacks: [LanguageTag] {
        var tags = [self]
        var rest = parts
        while rest.count > 1 {
            rest.removeLast()
            // A single character introduces the subtags that were just removed.
            if rest.count > 1, rest[rest.count - 1].utf8.count == 1 { rest.removeLast() }
            tags.append(LanguageTag(parts: rest))
        }
        return tags
    }
}

/// The production `langtag` of RFC 5646, section 2.1, read from left to right.
private struct Grammar {
    private let subtags: [Substring]
    private var next = 0
    private var parts: [String] = []
    private var singletons: Set<String> = []

    init(_ subtags: [Substring]) {
        self.subtags = subtags
    }

    /// The subtags in canonical case; nil where they do not follow the grammar.
    mutating func parse() -> [String]? {
        guard take(where: { 2...8 ~= $0.utf8.count && Self.isAlphabetic($0) }, lowercased) else { return nil }
        if parts[0].utf8.count <= 3 {
            var extended = 0
            while extended < 3, take(where: { $0.utf8.count == 3 && Self.isAlphabetic($0) }, lowercased) {
                extended += 1
            }
        }
        _ = take(where: { $0.utf8.count == 4 && Self.isAlphabetic($0) }) { script in
            script.prefix(1).uppercased() + script.dropFirst().lowercased()
        }
        _ = take(where: Self.isRegion) { $0.uppercased() }
        while take(where: Self.isVariant, lowercased) {}
        while takeExtension() {}
        return next == subtags.count ? parts : nil
    }

    private let lowercased: (Substring) -> String = { $0.lowercased() }

    private mutating func take(where matches: (Substring) -> Bool, _ canonical: (Substring) -> String) -> Bool {
        guard next < subtags.count, matches(subtags[next]) else { return false }
        parts.append(canonical(subtags[next]))
        next += 1
        return true
    }

    /// Takes a singleton with its subtags; those of `x` are private and reach to the end.
    ///
    /// Returns false without taking all of it where the extension is malformed, so that subtags are left over.
    private mutating func takeExtension() -> Bool {
        guard next < subtags.count, subtags[next].utf8.count == 1, Self.isAlphanumeric(subtags[next]) else {
            return false
        }
        let singleton = subtags[next].lowercased()
        let shortest = singleton == "x" ? 1 : 2
        guard next + 1 < subtags.count, Self.isAlphanumeric(subtags[next + 1]),
            shortest...8 ~= subtags[next + 1].utf8.count, singletons.insert(singleton).inserted
        else { return false }
        parts.append(singleton)
        next += 1
        while take(where: { shortest...8 ~= $0.utf8.count && Self.isAlphanumeric($0) }, lowercased) {}
        return true
    }

    private static func isRegion(_ subtag: Substring) -> Bool {
        subtag.utf8.count == 2 && isAlphabetic(subtag) || subtag.utf8.count == 3 && subtag.utf8.allSatisfy(isDigit)
    }

    private static func isVariant(_ subtag: Substring) -> Bool {
        guard let first = subtag.utf8.first, isAlphanumeric(subtag) else { return false }
        return 5...8 ~= subtag.utf8.count || subtag.utf8.count == 4 && isDigit(first)
    }

    private static func isAlphabetic(_ subtag: Substring) -> Bool { subtag.utf8.allSatisfy(isLetter) }
    private static func isAlphanumeric(_ subtag: Substring) -> Bool {
        subtag.utf8.allSatisfy { isLetter($0) || isDigit($0) }
    }
    private static func isLetter(_ byte: UInt8) -> Bool { 0x61...0x7A ~= byte | 0x20 }
    private static func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }
}
