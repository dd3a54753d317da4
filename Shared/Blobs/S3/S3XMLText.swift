/// A reader of S3's XML responses, which have few elements and never nest an element in one of the same name.
struct S3XMLText {
    private let text: Substring

    init(_ text: some StringProtocol) {
        self.text = Substring(text)
    }

    /// The text of the first element with this name; nil if there is none.
    subscript(_ name: String) -> String? {
        element(name, in: text).map { Self.plain($0.content) }
    }

    /// Returns the elements with this name, in order.
    func all(_ name: String) -> [S3XMLText] {
        var elements: [S3XMLText] = []
        var rest = text
        while let (content, after) = element(name, in: rest) {
            elements.append(S3XMLText(content))
            rest = after
        }
        return elements
    }

    /// Returns whether the document contains an element with this name.
    func `is`(_ name: String) -> Bool { element(name, in: text) != nil }

    private func element(_ name: String, in text: Substring) -> (content: Substring, after: Substring)? {
        var rest = text
        while let start = rest.firstRange(of: "<\(name)") {
            rest = rest[start.upperBound...]
            // `<Key` is also a prefix of `<KeyMarker`.
            guard let next = rest.first, next == ">" || next.isWhitespace else { continue }
            // Without a closing bracket, no later element is complete either.
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
        // The ampersand last, so that the text it reveals is not decoded again.
        for (name, character) in named { plain.replace(name, with: character) }
        return plain
    }
}
