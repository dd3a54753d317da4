import Foundation

/// Plain text out of what networks mark up.
enum PlainText {
    /// The text of a piece of HTML: paragraphs and line breaks as such, entities resolved, all else left out.
    ///
    /// For posts, which are short and made by a server: not a parser of pages. Whatever comes out is text, never markup.
    static func ofHTML(_ html: String) -> String {
        guard html.utf8.contains(where: { $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: "&") }) else { return html }
        var text = ""
        text.reserveCapacity(html.utf8.count)
        var rest = Substring(html)
        while let open = rest.firstIndex(of: "<") {
            text += rest[..<open]
            guard let close = rest[open...].firstIndex(of: ">") else {
                rest = rest[rest.endIndex...]
                break
            }
            let tag = rest[rest.index(after: open)..<close]
            let isClosing = tag.hasPrefix("/")
            let name = tag.drop { $0 == "/" }.prefix { $0.isLetter || $0.isNumber }.lowercased()
            switch name {
            case "br": text += "\n"
            case "p", "div", "blockquote", "ul", "ol", "h1", "h2", "h3", "pre":
                if isClosing { text += "\n\n" }
            case "li", "tr": text += isClosing ? "\n" : name == "li" ? "• " : ""
            default: break
            }
            rest = rest[rest.index(after: close)...]
        }
        text += rest
        return trimmed(unescaped(text))
    }

    /// With entities resolved, and nothing else: of networks that escape `<`, `>` and `&` alone.
    static func unescaped(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "&")) else { return text }
        var plain = ""
        plain.reserveCapacity(text.utf8.count)
        var rest = Substring(text)
        while let start = rest.firstIndex(of: "&") {
            plain += rest[..<start]
            let behind = rest[rest.index(after: start)...]
            if let end = behind.prefix(12).firstIndex(of: ";"), let character = entity(behind[..<end]) {
                plain += character
                rest = rest[rest.index(after: end)...]
            } else {
                plain += "&"
                rest = behind
            }
        }
        return plain + rest
    }

    private static func entity(_ name: Substring) -> String? {
        if name.first == "#" {
            let digits = name.dropFirst()
            let value =
                digits.first.map { $0 == "x" || $0 == "X" } == true
                ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
            return value.flatMap { $0 == 0 ? nil : Unicode.Scalar($0) }.map { String(Character($0)) }
        }
        return named[String(name)]
    }

    private static let named = [
        "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "nbsp": "\u{A0}", "hellip": "…", "mdash": "—",
        "ndash": "–", "lsquo": "‘", "rsquo": "’", "ldquo": "“", "rdquo": "”", "copy": "©", "reg": "®", "trade": "™",
        "euro": "€", "bull": "•", "middot": "·", "laquo": "«", "raquo": "»", "zwj": "\u{200D}", "zwnj": "\u{200C}",
    ]

    /// Without white space around it, and with at most one empty line between paragraphs.
    private static func trimmed(_ text: String) -> String {
        var lines: [Substring] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.isEmpty, lines.last.map(\.isEmpty) ?? true { continue }
            lines.append(line)
        }
        while lines.last?.isEmpty == true { lines.removeLast() }
        return lines.joined(separator: "\n").trimmingCharacters(in: .whitespaces)
    }
}
