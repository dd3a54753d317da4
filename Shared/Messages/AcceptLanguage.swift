/// The languages of a client's `Accept-Language` header (RFC 9110, section 12.5.4).
package enum AcceptLanguage {
    /// The maximum number of bytes that are read; the rest of the header is ignored.
    package static let maximumLength = 1_024
    /// The maximum number of languages that are read; further ones are ignored.
    package static let maximumLanguages = 20

    /// Returns the languages in the order of their quality values; equal values keep the header's order.
    ///
    /// Omits `*`, malformed ranges, and languages with the quality 0.
    ///
    /// - Parameter header: the header's value.
    /// - Returns: the languages without duplicates.
    package static func languages(in header: String) -> [LanguageTag] {
        // The cut may split a range, which then is malformed or a shorter tag of the same language.
        let text = String(decoding: header.utf8.prefix(maximumLength), as: UTF8.self)
        var ranges: [(tag: LanguageTag, quality: Int)] = []
        for range in text.split(separator: ",").prefix(maximumLanguages) {
            let parts = range.split(separator: ";").map(trimmed)
            guard let name = parts.first, let tag = LanguageTag(name), let quality = quality(parts.dropFirst()),
                quality > 0, !ranges.contains(where: { $0.tag == tag })
            else { continue }
            ranges.append((tag, quality))
        }
        // The standard library does not guarantee a stable sort, so the offset breaks ties.
        return ranges.enumerated().sorted { ($1.element.quality, $0.offset) < ($0.element.quality, $1.offset) }
            .map(\.element.tag)
    }

    /// Returns a quality value in thousandths, or nil if it is malformed.
    private static func quality(_ parameters: ArraySlice<String>) -> Int? {
        guard let parameter = parameters.first else { return 1_000 }
        guard parameters.count == 1, parameter.lowercased().hasPrefix("q=") else { return nil }
        let digits = parameter.dropFirst(2).split(separator: ".", omittingEmptySubsequences: false)
        guard let whole = digits.first.flatMap({ Int($0) }), 0...1 ~= whole, digits.count <= 2 else { return nil }
        guard digits.count == 2, !digits[1].isEmpty else { return whole * 1_000 }
        let fraction = digits[1]
        guard fraction.utf8.count <= 3, fraction.utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
            let thousandths = Int(fraction + String(repeating: "0", count: 3 - fraction.utf8.count))
        else { return nil }
        let quality = whole * 1_000 + thousandths
        return quality <= 1_000 ? quality : nil
    }

    private static func trimmed(_ text: Substring) -> String {
        var rest = text
        while let first = rest.first, first == " " || first == "\t" { rest = rest.dropFirst() }
        while let last = rest.last, last == " " || last == "\t" { rest = rest.dropLast() }
        return String(rest)
    }
}
