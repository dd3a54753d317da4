/// Text of the document as HTML: escaped, with the little of Markdown that descriptions use.
enum Markup {
    static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            default: result.append(character)
            }
        }
        return result
    }

    /// A path, which may break after a slash.
    static func path(_ template: String) -> String {
        escaped(template).replacing("/", with: "/<wbr>")
    }

    /// One line of text, with `code`, **strong** and [links](https://www.rfc-editor.org) marked up.
    static func inline(_ text: String) -> String {
        escaped(text).components(between: "`").enumerated().map { number, part in
            guard number.isMultiple(of: 2) else { return "<code>\(part)</code>" }
            return part.components(between: "**").enumerated().map { number, part in
                number.isMultiple(of: 2) ? linked(part) : "<strong>\(part)</strong>"
            }.joined()
        }.joined()
    }

    /// Paragraphs, headings, lists and tables of a description.
    static func blocks(_ text: String) -> String { MarkdownDocument(text, headingTag: "h3").html }
}

extension String {
    /// The parts between marks, which come in pairs; a mark without its other is text.
    fileprivate func components(between mark: String) -> [String] {
        let parts = split(separator: mark, omittingEmptySubsequences: false).map(String.init)
        guard parts.count.isMultiple(of: 2) else { return parts }
        return parts.dropLast(2) + [parts.suffix(2).joined(separator: mark)]
    }
}
