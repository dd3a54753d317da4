import Wire

/// A well-formed language tag (BCP 47, RFC 5646, section 2.1) in its canonical case, for example `pt-BR` or
/// `zh-Hant-TW`.
///
/// Tags that start with `x-` or `i-` are rejected, because they do not name a language by which texts can be selected.
package struct LanguageTag: Hashable, Sendable, CustomStringConvertible {
    /// The maximum length of a tag in bytes (RFC 5646, section 4.4.1, recommends at least 35).
    package static let maximumLength = 35

    /// English, the language of all built-in texts.
    package static let english = LanguageTag(parts: ["en"])

    private let parts: [String]

    private init(parts: [String]) {
        self.parts = parts
    }

    /// Parses a tag; returns nil if it is malformed or longer than `maximumLength`.
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

    /// The tag and its shorter prefixes in the order of a lookup (RFC 4647, section 3.4): `pt-BR`, `pt`.
    package var fallbacks: [LanguageTag] {
        var tags = [self]
        var rest = parts
        while rest.count > 1 {
            rest.removeLast()
            // A single-character subtag only introduces the subtags that were just removed.
            if rest.count > 1, rest[rest.count - 1].utf8.count == 1 { rest.removeLast() }
            tags.append(LanguageTag(parts: rest))
        }
        return tags
    }
}

/// A parser of the production `langtag` of RFC 5646, section 2.1.
private struct Grammar {
    private let subtags: [Substring]
    private var next = 0
    private var parts: [String] = []
    private var singletons: Set<String> = []

    init(_ subtags: [Substring]) {
        self.subtags = subtags
    }

    /// Returns the subtags in canonical case, or nil if the tag is malformed.
    mutating func parse() -> [String]? {
        guard consume(where: { 2...8 ~= $0.utf8.count && Self.isAlphabetic($0) }, lowercased) else { return nil }
        if parts[0].utf8.count <= 3 {
            var extended = 0
            while extended < 3, consume(where: { $0.utf8.count == 3 && Self.isAlphabetic($0) }, lowercased) {
                extended += 1
            }
        }
        _ = consume(where: { $0.utf8.count == 4 && Self.isAlphabetic($0) }) { script in
            script.prefix(1).uppercased() + script.dropFirst().lowercased()
        }
        _ = consume(where: Self.isRegion) { $0.uppercased() }
        while consume(where: Self.isVariant, lowercased) {}
        while consumeExtension() {}
        return next == subtags.count ? parts : nil
    }

    private let lowercased: (Substring) -> String = { $0.lowercased() }

    private mutating func consume(where matches: (Substring) -> Bool, _ canonical: (Substring) -> String) -> Bool {
        guard next < subtags.count, matches(subtags[next]) else { return false }
        parts.append(canonical(subtags[next]))
        next += 1
        return true
    }

    /// Consumes a singleton and its subtags; the subtags of `x` are private and extend to the end.
    ///
    /// For a malformed extension, it returns false and leaves subtags, so that the tag is rejected.
    ///
    /// - Returns: whether a complete extension was consumed.
    private mutating func consumeExtension() -> Bool {
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
        while consume(where: { shortest...8 ~= $0.utf8.count && Self.isAlphanumeric($0) }, lowercased) {}
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
