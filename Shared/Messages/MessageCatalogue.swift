import Wire

/// The error of an invalid message catalogue.
package struct MessageCatalogueError: Error, CustomStringConvertible {
    /// The file, for example `push/pt.json`.
    package let file: String
    /// The key of the message; nil if the error concerns the whole file.
    package let key: String?
    package let reason: String

    package var description: String {
        "\(file): " + (key.map { "\"\($0)\" \(reason)" } ?? reason)
    }
}

/// The messages of one language.
///
/// A file `<lang>.json` has this form:
///
/// ```
/// {"language": "en", "plurals": "one", "messages": {
///     "like.one": "{name} liked your photo",
///     "like.others": {"number": "count", "one": "{name} and {count} other …", "other": "…"}}}
/// ```
struct MessageCatalogue: Sendable {
    /// The maximum size of a file in bytes.
    static let maximumSize = 262_144
    /// The maximum number of messages in a file.
    static let maximumMessages = 1_000
    /// The maximum length of a key in bytes.
    static let maximumKeyLength = 80

    /// A text, or one text for each plural category of a number.
    enum Message: Hashable, Sendable {
        case text(MessageTemplate)
        /// Plural forms; there is always one for `other`.
        case plural(number: String, [PluralCategory: MessageTemplate])

        /// The names of all placeholders, in the order of their first appearance in the form `other`.
        var placeholders: [String] {
            switch self {
            case .text(let template): return template.placeholders
            case .plural(_, let forms):
                var names = forms[.other]?.placeholders ?? []
                for category in PluralCategory.allCases {
                    for name in forms[category]?.placeholders ?? [] where !names.contains(name) { names.append(name) }
                }
                return names
            }
        }
    }

    let language: LanguageTag
    /// The plural rules; nil in an operator's file for a language with built-in rules.
    let plurals: PluralRules?
    var messages: [String: Message]

    /// Parses a file.
    ///
    /// - Parameters:
    ///   - bytes: the file's content.
    ///   - file: the file's name for errors.
    ///   - language: the language in the file's name.
    ///   - knownPlurals: the default rules if the file contains none.
    /// - Throws: the first error in the file.
    init(
        _ bytes: some Collection<UInt8>,
        file: String,
        language: LanguageTag,
        knownPlurals: PluralRules? = nil
    ) throws(MessageCatalogueError) {
        func failed(_ reason: String, _ key: String? = nil) -> MessageCatalogueError {
            MessageCatalogueError(file: file, key: key, reason: reason)
        }
        guard bytes.count <= Self.maximumSize else { throw failed("has more than \(Self.maximumSize) bytes") }
        let value: JSONValue
        do {
            value = try JSONParser.parse(bytes, depth: 4)
        } catch {
            throw failed("is not valid JSON or is nested too deeply, at byte \(error.offset)")
        }
        guard case .object(let fields) = value else { throw failed("must contain a JSON object") }
        if let unknown = fields.keys.sorted().first(where: { !["language", "plurals", "messages"].contains($0) }) {
            throw failed("is not a field of a catalogue; the fields are language, plurals and messages", unknown)
        }
        guard let named = fields["language"]?.text.flatMap({ LanguageTag($0) }), named == language else {
            throw failed("must be \"\(language)\", as in the file's name", "language")
        }
        self.language = language
        if let plurals = fields["plurals"] {
            guard let rules = plurals.text.flatMap({ PluralRules(rawValue: $0) }) else {
                let names = PluralRules.allCases.map(\.rawValue).joined(separator: ", ")
                throw failed("must be one of \(names)", "plurals")
            }
            self.plurals = rules
        } else {
            self.plurals = knownPlurals
        }
        guard let rules = self.plurals else { throw failed("is missing", "plurals") }
        guard case .object(let texts) = fields["messages"] else { throw failed("must be a JSON object", "messages") }
        guard texts.count <= Self.maximumMessages else {
            throw failed("may have at most \(Self.maximumMessages) entries", "messages")
        }
        messages = [:]
        for (key, value) in texts.sorted(by: { $0.key < $1.key }) {
            guard 1...Self.maximumKeyLength ~= key.utf8.count else {
                throw failed("must have 1 to \(Self.maximumKeyLength) bytes", String(key.prefix(80)))
            }
            do {
                messages[key] = try Message(value, rules)
            } catch {
                throw failed(error.reason, key)
            }
        }
    }
}

extension MessageCatalogue.Message {
    fileprivate init(_ value: JSONValue, _ rules: PluralRules) throws(MessageTemplate.Malformed) {
        switch value {
        case .string(let text): self = .text(try MessageTemplate(text))
        case .object(let fields):
            guard let number = fields["number"]?.text, MessageTemplate.isName(Substring(number)) else {
                throw MessageTemplate.Malformed(reason: "must name in \"number\" the placeholder that selects the form")
            }
            var forms: [PluralCategory: MessageTemplate] = [:]
            for (name, value) in fields where name != "number" {
                guard let category = PluralCategory(rawValue: name), rules.categories.contains(category) else {
                    let names = PluralCategory.allCases.filter(rules.categories.contains).map(\.rawValue)
                    let allowed = names.joined(separator: ", ")
                    let reason = "has the form \"\(name.prefix(40))\"; the rules \(rules.rawValue) have \(allowed)"
                    throw MessageTemplate.Malformed(reason: reason)
                }
                guard let text = value.text else {
                    throw MessageTemplate.Malformed(reason: "has the form \"\(name)\", which must be a string")
                }
                forms[category] = try MessageTemplate(text)
            }
            guard forms[.other] != nil else {
                throw MessageTemplate.Malformed(reason: "must have the form \"other\"")
            }
            self = .plural(number: number, forms)
        default: throw MessageTemplate.Malformed(reason: "must be a string, or an object of plural forms")
        }
    }
}
