/// The languages that a client asks for in the header `Accept-Language` (RFC 9110, section 12.5.4).
package enum AcceptLanguage {
    /// The bytes of a header that are read; the rest is ignored.
    package static let maximumLength = 1_024
    /// The languages that are read; the rest is ignored.
    package static let maximumLanguages = 20

    /// Returns the languages in the order of their quality values, those of equal quality in the order of the header.
    ///
    /// Leaves out `*`, malformed ranges, and languages with the quality 0.
    package static func languages(in header: String) -> [LanguageTag] {
        // The cut may split a range; a split range is malformed or a shorter tag of the same language.
        let text = String(decoding: header.utf8.prefix(maximumLength), as: UTF8.self)
        var ranges: [(tag: LanguageTag, quality: Int)] = []
        for range in text.split(separator: ",").prefix(maximumLanguages) {
            let parts = range.split(separator: ";").map(trimmed)
            guard let name = parts.first, let tag = LanguageTag(name), let quality = quality(parts.dropFirst()),
                quality > 0, !ranges.contains(where: { $0.tag == tag })
            else { continue }
            ranges.append((tag, quality))
        }
        // The sort of the standard library keeps the order of equal elements only by implementation.
        return ranges.enumerated().sorted { ($1.element.quality, $0.offset) < ($0.element.quality, $1.offset) }
            .map(\.element.tag)
    }

    /// A quality value in thousandths; nil if it is malformed.
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
