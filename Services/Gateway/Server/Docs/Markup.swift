/// HTML for texts of the OpenAPI document: escaped, with a small subset of Markdown.
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

    static func path(_ template: String) -> String {
        escaped(template).replacing("/", with: "/<wbr>")
    }

    /// Converts one line of text with `code`, **strong** and [links](https://www.rfc-editor.org).
    static func inline(_ text: String) -> String {
        escaped(text).components(between: "`").enumerated().map { number, part in
            guard number.isMultiple(of: 2) else { return "<code>\(part)</code>" }
            return part.components(between: "**").enumerated().map { number, part in
                number.isMultiple(of: 2) ? linked(part) : "<strong>\(part)</strong>"
            }.joined()
        }.joined()
    }

    static func blocks(_ text: String) -> String { MarkdownDocument(text, headingTag: "h3").html }
}

extension String {
    /// Returns the parts between pairs of `mark`; an unpaired mark stays in the text.
    fileprivate func components(between mark: String) -> [String] {
        let parts = split(separator: mark, omittingEmptySubsequences: false).map(String.init)
        guard parts.count.isMultiple(of: 2) else { return parts }
        return parts.dropLast(2) + [parts.suffix(2).joined(separator: mark)]
    }
}
