/// A Markdown document from `docs/` as an HTML page, rendered at startup, without scripts or external resources.
struct MarkdownPage {
    let page: StaticPage

    init(_ text: String, isCompressed: Bool) {
        let document = MarkdownDocument(text)
        let title = Markup.escaped(document.headings.first { $0.level == 1 }?.text ?? "Documentation")
        let contents = document.headings.filter { $0.level == 2 }.map { heading in
            "<li><a href=\"#\(heading.anchor)\"><span></span><span>\(Markup.inline(heading.text))</span></a></li>"
        }
        var html = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
        html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
        html += "<title>\(title)</title><style>\(DocsPage.style)</style></head><body>"
        html += "<nav><h1>\(title)</h1><input type=\"checkbox\" id=\"menu\"><label for=\"menu\">Contents</label>"
        html += "<div><h2><a href=\"/docs\">REST routes</a></h2><ul>\(contents.joined())</ul></div></nav>"
        html += "<main>\(document.html)</main></body></html>\n"
        page = DocsPage.page(html, isCompressed: isCompressed)
    }
}

/// A converter from Markdown to HTML that supports headings, paragraphs, lists, code fences and tables.
///
/// All text is escaped, so HTML in the source appears as text.
struct MarkdownDocument {
    struct Heading {
        let level: Int
        let text: String
        let anchor: String
    }

    private(set) var html = ""
    private(set) var headings: [Heading] = []
    private var paragraph: [String] = []
    private var items: [String] = []
    private var list = "ul"
    /// The lines of an open table.
    private var rows: [String] = []
    /// The lines of an open code fence.
    private var code: [String]?
    /// The tag of all headings, which then have no anchors; nil selects the tag by level.
    private let headingTag: String?

    init(_ text: String, headingTag: String? = nil) {
        self.headingTag = headingTag
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) { read(String(line)) }
        if code != nil { closeFence() }
        closeBlock()
    }

    private mutating func read(_ line: String) {
        let trimmed = String(line.trimmedASCII)
        if trimmed.hasPrefix("```") {
            closeBlock()
            if code == nil { code = [] } else { closeFence() }
        } else if code != nil {
            code?.append(line)
        } else if trimmed.isEmpty {
            closeBlock()
        } else if let level = Self.headingLevel(trimmed) {
            closeBlock()
            addHeading(String(trimmed.dropFirst(level).trimmedASCII), level: level)
        } else if trimmed.hasPrefix("|") {
            if rows.isEmpty { closeBlock() }
            rows.append(trimmed)
        } else if let item = Self.item(trimmed) {
            if items.isEmpty || item.list != list { closeBlock() }
            list = item.list
            items.append(item.text)
        } else if !items.isEmpty {
            items[items.count - 1] += " \(trimmed)"
        } else {
            if !rows.isEmpty { closeBlock() }
            paragraph.append(trimmed)
        }
    }

    private mutating func closeBlock() {
        if !paragraph.isEmpty { html += "<p>\(Markup.inline(paragraph.joined(separator: " ")))</p>" }
        if !items.isEmpty {
            html += "<\(list)>\(items.map { "<li>\(Markup.inline($0))</li>" }.joined())</\(list)>"
        }
        if !rows.isEmpty { html += Self.table(rows) }
        paragraph = []
        items = []
        rows = []
    }

    private mutating func closeFence() {
        html += "<pre>\(Markup.escaped((code ?? []).joined(separator: "\n")))</pre>"
        code = nil
    }

    private mutating func addHeading(_ text: String, level: Int) {
        if let headingTag {
            html += "<\(headingTag)>\(Markup.inline(text))</\(headingTag)>"
            return
        }
        let words = text.lowercased().split { !$0.isLetter && !$0.isNumber }
        let anchor = Markup.escaped(words.joined(separator: "-"))
        headings.append(Heading(level: level, text: text, anchor: anchor))
        let tag = "h\(min(level, 4))"
        html += "<\(tag) id=\"\(anchor)\">\(Markup.inline(text))</\(tag)>"
    }

    private static func headingLevel(_ line: String) -> Int? {
        let level = line.prefix { $0 == "#" }.count
        return (1...6).contains(level) && line.dropFirst(level).hasPrefix(" ") ? level : nil
    }

    private static func item(_ line: String) -> (list: String, text: String)? {
        if line.hasPrefix("- ") || line.hasPrefix("* ") { return ("ul", String(line.dropFirst(2))) }
        let digits = line.prefix { $0.isNumber }
        guard !digits.isEmpty, line.dropFirst(digits.count).hasPrefix(". ") else { return nil }
        return ("ol", String(line.dropFirst(digits.count + 2)))
    }

    /// Returns a table of lines that begin with a pipe.
    ///
    /// The second line separates the header cells, which are omitted when all are empty.
    private static func table(_ lines: [String]) -> String {
        let rows = lines.map(cells)
        guard rows.count > 1, rows[1].allSatisfy(isSeparator) else {
            return "<p>\(Markup.inline(lines.joined(separator: " ")))</p>"
        }
        func row(_ cells: [String], _ tag: String) -> String {
            "<tr>\(cells.map { "<\(tag)>\(Markup.inline($0))</\(tag)>" }.joined())</tr>"
        }
        let head = rows[0].allSatisfy(\.isEmpty) ? "" : "<thead>\(row(rows[0], "th"))</thead>"
        return "<table>\(head)<tbody>\(rows.dropFirst(2).map { row($0, "td") }.joined())</tbody></table>"
    }

    private static func isSeparator(_ cell: String) -> Bool {
        !cell.isEmpty && cell.contains("-") && cell.allSatisfy { $0 == "-" || $0 == ":" }
    }

    /// Returns the cells of a line; a pipe in `code` or after a backslash belongs to its cell.
    private static func cells(of line: String) -> [String] {
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
}

extension Markup {
    /// Documents that the gateway serves, by file name in `docs/`.
    private static let served = ["openapi.yaml": "/docs", "socket-events.md": "/docs/socket-events"]

    /// Converts Markdown links in escaped text to HTML; a link to a file that is not served becomes plain text.
    static func linked(_ text: String) -> String {
        var result = ""
        var rest = text[...]
        while let middle = rest.firstRange(of: "](") {
            guard let open = rest[..<middle.lowerBound].lastIndex(of: "["),
                let close = rest[middle.upperBound...].firstIndex(of: ")")
            else {
                result += rest[..<middle.upperBound]
                rest = rest[middle.upperBound...]
                continue
            }
            let label = rest[rest.index(after: open)..<middle.lowerBound]
            let target = String(rest[middle.upperBound..<close])
            result += rest[..<open]
            if let address = served[target] ?? (isAddress(target) ? target : nil) {
                result += "<a href=\"\(address)\">\(label)</a>"
            } else {
                result += label
            }
            rest = rest[rest.index(after: close)...]
        }
        return result + rest
    }

    private static func isAddress(_ target: String) -> Bool {
        ["https://", "http://", "/", "#"].contains { target.hasPrefix($0) }
    }
}
