/// A value for a placeholder.
package enum MessageArgument: Hashable, Sendable {
    case text(String)
    case number(Int64)
    /// The key of another message without arguments.
    case message(String)
}

/// A text with placeholders: `{name} liked your photo`; `{{` and `}}` represent braces.
struct MessageTemplate: Hashable, Sendable {
    /// The maximum length of a text in bytes.
    static let maximumLength = 8_192
    /// The maximum length of a placeholder's name in bytes.
    static let maximumNameLength = 40

    enum Piece: Hashable, Sendable {
        case text(String)
        case placeholder(String)
    }

    /// The error of an invalid template.
    struct Malformed: Error {
        let reason: String
    }

    let pieces: [Piece]

    /// The names of the placeholders in the order of their first appearance.
    var placeholders: [String] {
        var names: [String] = []
        for case .placeholder(let name) in pieces where !names.contains(name) { names.append(name) }
        return names
    }

    init(_ text: String) throws(Malformed) {
        guard text.utf8.count <= Self.maximumLength else {
            throw Malformed(reason: "has more than \(Self.maximumLength) bytes")
        }
        guard !text.isEmpty else { throw Malformed(reason: "is empty") }
        var pieces: [Piece] = []
        var literal = ""
        var rest = Substring(text)
        while let character = rest.popFirst() {
            switch character {
            case "{" where rest.first == "{", "}" where rest.first == "}":
                rest.removeFirst()
                literal.append(character)
            case "{":
                guard let end = rest.firstIndex(of: "}") else { throw Malformed(reason: "has a { without a }") }
                let name = rest[..<end]
                guard Self.isName(name) else {
                    throw Malformed(reason: "has the placeholder {\(name.prefix(40))}; names have 1 to 40 letters")
                }
                if !literal.isEmpty { pieces.append(.text(literal)) }
                literal = ""
                pieces.append(.placeholder(String(name)))
                rest = rest[rest.index(after: end)...]
            case "}": throw Malformed(reason: "has a } without a {")
            default: literal.append(character)
            }
        }
        if !literal.isEmpty { pieces.append(.text(literal)) }
        self.pieces = pieces
    }

    static func isName(_ name: Substring) -> Bool {
        1...maximumNameLength ~= name.utf8.count && name.utf8.allSatisfy { 0x61...0x7A ~= $0 | 0x20 }
    }
}
