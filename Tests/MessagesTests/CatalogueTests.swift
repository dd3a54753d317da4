import Foundation
import Testing

@testable import Messages

@Suite("Message catalogues") struct CatalogueTests {
    private static let english = """
        {"language": "en", "plurals": "one", "messages": {
            "hello": "Hello {name} {{!}}", "unknown": "Someone", "plain": "Plain",
            "likes": {"number": "count", "one": "{name} and {count} other", "other": "{name} and {count} others"}}}
        """
    private static let portuguese = """
        {"language": "pt", "plurals": "zeroAndOneAndMillions", "messages": {
            "hello": "Olá, {name}", "unknown": "Alguém",
            "likes": {"number": "count", "one": "{count} pessoa e {name}", "other": "{count} pessoas e {name}"}}}
        """

    private static func catalogues(
        _ folder: String? = nil,
        embedded: [String: String] = ["en": english, "pt": portuguese]
    ) throws -> MessageCatalogues {
        try MessageCatalogues(embedded: embedded.mapValues { Array($0.utf8) }, folder: folder, service: "push")
    }

    private static func tag(_ text: String) throws -> LanguageTag { try #require(LanguageTag(text)) }

    /// Writes an operator's files, and removes them afterwards.
    private static func withFiles(_ files: [String: String], _ body: (String) throws -> Void) throws {
        let root = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: root.appending(path: "push"), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: root) }
        for (name, text) in files { try Data(text.utf8).write(to: root.appending(path: "push/\(name)")) }
        try body(root.path(percentEncoded: false))
    }

    @Test("A language matches by its shorter form, else English is used")
    func matching() throws {
        let catalogues = try Self.catalogues()
        #expect(catalogues.match([try Self.tag("pt-BR")]).description == "pt")
        #expect(catalogues.match([try Self.tag("sw"), try Self.tag("pt-PT")]).description == "pt")
        #expect(catalogues.match([try Self.tag("sw")]) == .english)
        #expect(catalogues.preferred(among: [try Self.tag("sw"), try Self.tag("pt-PT")])?.description == "pt-PT")
        #expect(catalogues.preferred(among: [try Self.tag("sw")])?.description == "sw")
        #expect(catalogues.preferred(among: []) == nil)
    }

    @Test("Placeholders and plural forms are filled in")
    func rendering() throws {
        let catalogues = try Self.catalogues()
        let brazilian = try Self.tag("pt-BR")
        #expect(catalogues.text("hello", ["name": .text("{name}")], in: .english) == "Hello {name} {!}")
        let two: [String: MessageArgument] = ["name": .message("unknown"), "count": .number(2)]
        #expect(catalogues.text("likes", two, in: .english) == "Someone and 2 others")
        #expect(catalogues.text("likes", two, in: brazilian) == "2 pessoas e Alguém")
        let none: [String: MessageArgument] = ["name": .text("Ana"), "count": .number(0)]
        #expect(catalogues.text("likes", none, in: brazilian) == "0 pessoa e Ana")
        #expect(catalogues.text("likes", none, in: .english) == "Ana and 0 others")
        #expect(catalogues.text("plain", in: brazilian) == "Plain")
    }

    @Test("A localized key has the plural category, and its arguments the order of the English text")
    func localizedKeys() throws {
        let catalogues = try Self.catalogues()
        let arguments: [String: MessageArgument] = ["count": .number(1), "name": .text("Ana")]
        let key = catalogues.localizedKey("likes", arguments, in: try Self.tag("pt"))
        #expect(key?.key == "likes.one")
        #expect(key?.arguments == ["Ana", "1"])
        #expect(catalogues.localizedKey("plain", in: .english)?.key == "plain")
        #expect(catalogues.localizedKey("missing", in: .english) == nil)
    }

    @Test("An operator's file adds a language, and replaces single texts of a known one")
    func operatorFiles() throws {
        let files = [
            "it.json": #"{"language": "it", "plurals": "oneAndMillions", "messages": {"hello": "Ciao {name}"}}"#,
            "pt.json": #"{"language": "pt", "messages": {"unknown": "Uma pessoa"}}"#,
            "pt-BR.json": #"{"language": "pt-BR", "plurals": "one", "messages": {"hello": "Oi, {name}"}}"#,
            "notes.txt": "not a catalogue",
        ]
        try Self.withFiles(files) { root in
            let catalogues = try Self.catalogues(root)
            let (italian, brazilian) = (try Self.tag("it"), try Self.tag("pt-BR"))
            #expect(catalogues.languages.map(\.description) == ["en", "it", "pt", "pt-BR"])
            #expect(catalogues.text("hello", ["name": .text("Ana")], in: italian) == "Ciao Ana")
            #expect(catalogues.text("unknown", in: italian) == "Someone")
            #expect(catalogues.text("hello", ["name": .text("Ana")], in: brazilian) == "Oi, Ana")
            #expect(catalogues.text("unknown", in: brazilian) == "Uma pessoa")
        }
    }

    @Test(
        "A malformed file is refused with its name, the key and the reason",
        arguments: [
            ("it.json", "{", nil, "is not valid JSON"), ("it.json", "[]", nil, "must contain a JSON object"),
            ("it.json", #"{"language": "fr", "plurals": "one", "messages": {}}"#, "language", "must be \"it\""),
            ("it.json", #"{"language": "it", "messages": {}}"#, "plurals", "is missing"),
            ("it.json", #"{"language": "it", "plurals": "two", "messages": {}}"#, "plurals", "must be one of"),
            ("it.json", #"{"language": "it", "plurals": "one"}"#, "messages", "must be a JSON object"),
            ("it.json", #"{"language": "it", "plurals": "one", "messages": {}, "x": 1}"#, "x", "is not a field"),
            ("it.json", it(#""nothing": "x""#), "nothing", "is not a message"),
            ("it.json", it(#""hello": "{nome}""#), "hello", "has the placeholder {nome}; it may have {name}"),
            ("it.json", it(#""hello": "{name""#), "hello", "has a { without a }"),
            ("it.json", it(#""hello": "name}""#), "hello", "has a } without a {"),
            ("it.json", it(#""hello": """#), "hello", "is empty"),
            ("it.json", it(#""hello": 1"#), "hello", "must be a"),
            ("it.json", it(#""likes": {"number": "count", "one": "x"}"#), "likes", "must have the form \"other\""),
            (
                "it.json", it(#""likes": {"number": "count", "few": "x", "other": "x"}"#), "likes",
                "has the form \"few\""
            ),
            ("it.json", it(#""likes": {"other": "x"}"#), "likes", "must name in \"number\""),
            ("it.json", it(#""likes": {"number": "n", "other": "x"}"#), "likes", "has the placeholder {n}"),
            ("IT.json", it(""), nil, "a file's name must be a language tag"),
            ("pt.json", #"{"language": "pt", "plurals": "one", "messages": {}}"#, "plurals", "for this language"),
        ] as [(String, String, String?, String)]
    )
    func malformed(file: String, text: String, key: String?, reason: String) throws {
        try Self.withFiles([file: text]) { root in
            let error = #expect(throws: MessageCatalogueError.self) { try Self.catalogues(root) }
            #expect(error?.file == "push/\(file)")
            #expect(error?.key == key)
            #expect(error?.reason.contains(reason) == true, "\(String(describing: error))")
        }
    }

    @Test("A file that is too large is refused")
    func large() throws {
        let text = Self.english + String(repeating: " ", count: MessageCatalogue.maximumSize)
        try Self.withFiles(["en.json": text]) { root in
            let error = #expect(throws: MessageCatalogueError.self) { try Self.catalogues(root) }
            #expect(error?.reason.contains("262144 bytes") == true)
        }
    }

    @Test("A folder that does not exist is refused")
    func missingFolder() {
        #expect(throws: MessageCatalogueError.self) { try Self.catalogues("/nowhere/at/all") }
    }

    private static func it(_ messages: String) -> String {
        #"{"language": "it", "plurals": "one", "messages": {\#(messages)}}"#
    }
}
