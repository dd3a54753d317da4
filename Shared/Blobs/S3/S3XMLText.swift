/// Reads what S3 answers in XML: a few elements with text in them, none inside of its own kind.
struct S3XMLText {
    private let text: Substring

    init(_ text: some StringProtocol) {
        self.text = Substring(text)
    }

    /// What is in the first element of this name; nil where there is none.
    subscript(_ name: String) -> String? {
        element(name, in: text).map { Self.plain($0.content) }
    }

    /// The elements of this name, in their order.
    func all(_ name: String) -> [S3XMLText] {
        var found: [S3XMLText] = []
        var rest = text
        while let (content, after) = element(name, in: rest) {
            found.append(S3XMLText(content))
            rest = after
        }
        return found
    }

    /// Whether the document is such an element.
    func `is`(_ name: String) -> Bool { element(name, in: text) != nil }

    private func element(_ name: String, in text: Substring) -> (content: Substring, after: Substring)? {
        var rest = text
        while let start = rest.firstRange(of: "<\(name)") {
            rest = rest[start.upperBound...]
            // `<Key` begins `<KeyMarker` too.
            guard let next = rest.first, next == ">" || next.isWhitespace else { continue }
            // None of the elements behind this one has an end either.
            guard let open = rest.firstIndex(of: ">") else { return nil }
            let content = rest[rest.index(after: open)...]
            guard let end = content.firstRange(of: "</\(name)>") else { return nil }
            return (content[..<end.lowerBound], content[end.upperBound...])
        }
        return nil
    }

    private static func plain(_ text: Substring) -> String {
        guard text.contains("&") else { return String(text) }
        var plain = String(text)
        let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#34;", "\""), ("&apos;", "'"), ("&amp;", "&")]
        // The ampersand last: what it uncovers is text.
        for (name, character) in named { plain.replace(name, with: character) }
        return plain
    }
}
