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

    /// Paragraphs, headings, lists and tables.
    static func blocks(_ text: String) -> String {
        var html = ""
        var paragraph: [String] = []
        var items: [String] = []
        var rows: [String] = []
        var list = "ul"
        func flush() {
            if !paragraph.isEmpty { html += "<p>\(inline(paragraph.joined(separator: " ")))</p>" }
            if !items.isEmpty { html += "<\(list)>\(items.map { "<li>\(inline($0))</li>" }.joined())</\(list)>" }
            if !rows.isEmpty { html += table(rows) }
            paragraph = []
            items = []
            rows = []
        }
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let trimmed = String(line.trimmedASCII)
            if trimmed.isEmpty {
                flush()
            } else if trimmed.hasPrefix("#") {
                flush()
                html += "<h3>\(inline(String(trimmed.drop { $0 == "#" || $0 == " " })))</h3>"
            } else if trimmed.hasPrefix("|") {
                if rows.isEmpty { flush() }
                rows.append(trimmed)
            } else if let item = item(trimmed) {
                if items.isEmpty { flush() }
                list = item.list
                items.append(item.text)
            } else if !items.isEmpty {
                items[items.count - 1] += " \(trimmed)"
            } else {
                if !rows.isEmpty { flush() }
                paragraph.append(trimmed)
            }
        }
        flush()
        return html
    }

    /// A table of lines that begin with a pipe; the second line separates the heads where it has nothing but dashes.
    private static func table(_ lines: [String]) -> String {
        let rows = lines.map(cells)
        guard rows.count > 1, rows[1].allSatisfy(isSeparator) else {
            return "<p>\(inline(lines.joined(separator: " ")))</p>"
        }
        func row(_ cells: [String], _ tag: String) -> String {
            "<tr>\(cells.map { "<\(tag)>\(inline($0))</\(tag)>" }.joined())</tr>"
        }
        let body = rows.dropFirst(2).map { row($0, "td") }.joined()
        return "<table><thead>\(row(rows[0], "th"))</thead><tbody>\(body)</tbody></table>"
    }

    private static func isSeparator(_ cell: String) -> Bool {
        !cell.isEmpty && cell.contains("-") && cell.allSatisfy { $0 == "-" || $0 == ":" }
    }

    /// The cells of a line; a pipe in `code` or after a backslash belongs to its cell.
    private static func cells(_ line: String) -> [String] {
        var cells: [String] = []
        var cell = ""
        var isCode = false
        var isEscaped = false
        for character in line.dropFirst() {
            if isEscaped {
                cell += character == "|" ? "|" : "\\\(character)"
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "|", !isCode {
                cells.append(String(cell.trimmedASCII))
                cell = ""
            } else {
                if character == "`" { isCode.toggle() }
                cell.append(character)
            }
        }
        if isEscaped { cell += "\\" }
        let last = String(cell.trimmedASCII)
        if !last.isEmpty { cells.append(last) }
        return cells
    }

    private static func item(_ line: String) -> (list: String, text: String)? {
        if line.hasPrefix("- ") { return ("ul", String(line.dropFirst(2))) }
        let digits = line.prefix { $0.isNumber }
        guard !digits.isEmpty, line.dropFirst(digits.count).hasPrefix(". ") else { return nil }
        return ("ol", String(line.dropFirst(digits.count + 2)))
    }
}

extension String {
    /// The parts between marks, which come in pairs; a mark without its other is text.
    fileprivate func components(between mark: String) -> [String] {
        let parts = split(separator: mark, omittingEmptySubsequences: false).map(String.init)
        guard parts.count.isMultiple(of: 2) else { return parts }
        return parts.dropLast(2) + [parts.suffix(2).joined(separator: mark)]
    }
}
