import Foundation

/// The messages of a service in all languages: the embedded catalogues, overridden by those of the operator's folder.
package struct MessageCatalogues: Sendable {
    /// The maximum number of files in an operator's folder.
    static let maximumFiles = 200

    /// A message in the form in which a device translates it.
    package struct LocalizedKey: Hashable, Sendable {
        /// The key; for a message with plural forms, followed by a dot and the category of the number.
        package let key: String
        /// The arguments in the order of the placeholders in the embedded English text.
        package let arguments: [String]
    }

    private let catalogues: [LanguageTag: MessageCatalogue]
    /// The embedded English texts, which define the keys and placeholders.
    private let reference: MessageCatalogue

    /// Loads the catalogues.
    ///
    /// - Parameters:
    ///   - embedded: the service's files by language; one of them is English.
    ///   - folder: the operator's folder; its subfolder `service` contains the files `<lang>.json` of this service.
    ///   - service: the service's name.
    /// - Throws: a `MessageCatalogueError` for the first unreadable or invalid file.
    package init(
        embedded: [String: [UInt8]],
        folder: String? = nil,
        service: String
    ) throws(MessageCatalogueError) {
        var catalogues: [LanguageTag: MessageCatalogue] = [:]
        for (name, bytes) in embedded {
            let language = try Self.language(name, service)
            catalogues[language] = try MessageCatalogue(bytes, file: "\(service)/\(name).json", language: language)
        }
        guard let reference = catalogues[.english] else {
            throw MessageCatalogueError(file: "\(service)/en.json", key: nil, reason: "is missing")
        }
        for catalogue in catalogues.values {
            try Self.check(catalogue, file: "\(service)/\(catalogue.language).json", against: reference)
        }
        for file in try Self.files(in: folder, service) {
            let language = try Self.language(String(file.name.dropLast(5)), service)
            let known = catalogues[language]
            let added = try MessageCatalogue(
                file.bytes,
                file: "\(service)/\(file.name)",
                language: language,
                knownPlurals: known?.plurals
            )
            try Self.check(added, file: "\(service)/\(file.name)", against: reference)
            guard var merged = known else {
                catalogues[language] = added
                continue
            }
            guard added.plurals == merged.plurals else {
                let reason = "must be \"\(merged.plurals?.rawValue ?? "")\" for this language"
                throw MessageCatalogueError(file: "\(service)/\(file.name)", key: "plurals", reason: reason)
            }
            merged.messages.merge(added.messages) { $1 }
            catalogues[language] = merged
        }
        self.catalogues = catalogues
        self.reference = reference
    }

    /// The available languages in the order of their tags.
    package var languages: [LanguageTag] { catalogues.keys.sorted { $0.description < $1.description } }

    package var keys: Set<String> { Set(reference.messages.keys) }

    /// Returns the first available language among the languages and their shorter prefixes; otherwise English.
    package func match(_ languages: [LanguageTag]) -> LanguageTag {
        for language in languages {
            for tag in language.fallbacks where catalogues[tag] != nil { return tag }
        }
        return .english
    }

    /// Returns the first available language as the client named it; otherwise the first of all.
    ///
    /// An account stores the client's own tag, so that texts in `pt-BR` that are added later reach the user.
    ///
    /// - Parameter languages: the languages in the client's order.
    /// - Returns: a language, or nil if there are none.
    package func preferred(among languages: [LanguageTag]) -> LanguageTag? {
        languages.first { $0.fallbacks.contains { catalogues[$0] != nil } } ?? languages.first
    }

    /// Returns a message in a language, with the language's shorter prefixes and English as fallbacks.
    ///
    /// A placeholder without an argument is kept as text; an unknown key is returned as text.
    ///
    /// - Parameters:
    ///   - key: the message's key.
    ///   - arguments: the values of the placeholders.
    ///   - language: the language.
    /// - Returns: the text.
    package func text(_ key: String, _ arguments: [String: MessageArgument] = [:], in language: LanguageTag) -> String {
        guard let (message, rules) = message(key, in: language) else { return key }
        let template: MessageTemplate?
        switch message {
        case .text(let text): template = text
        case .plural(let number, let forms):
            template = forms[Self.category(arguments[number], rules)] ?? forms[.other]
        }
        return (template?.pieces ?? []).reduce(into: "") { text, piece in
            switch piece {
            case .text(let literal): text += literal
            case .placeholder(let name): text += arguments[name].map { value($0, in: language) } ?? "{\(name)}"
            }
        }
    }

    /// Returns the key and arguments by which a device finds its own translation, or nil for an unknown key.
    package func localizedKey(
        _ key: String,
        _ arguments: [String: MessageArgument] = [:],
        in language: LanguageTag
    ) -> LocalizedKey? {
        guard let original = reference.messages[key] else { return nil }
        var name = key
        if let (message, rules) = message(key, in: language), case .plural(let number, _) = message {
            name += ".\(Self.category(arguments[number], rules).rawValue)"
        }
        return LocalizedKey(
            key: name,
            arguments: original.placeholders.map { name in arguments[name].map { value($0, in: language) } ?? "" }
        )
    }

    private func value(_ argument: MessageArgument, in language: LanguageTag) -> String {
        switch argument {
        case .text(let text): return text
        case .number(let number): return "\(number)"
        case .message(let key):
            // Such a message has no arguments, so the recursion ends here.
            return text(key, in: language)
        }
    }

    private func message(_ key: String, in language: LanguageTag) -> (MessageCatalogue.Message, PluralRules)? {
        for tag in language.fallbacks + [.english] {
            guard let catalogue = catalogues[tag], let message = catalogue.messages[key] else { continue }
            return (message, catalogue.plurals ?? .one)
        }
        return nil
    }

    private static func category(_ argument: MessageArgument?, _ rules: PluralRules) -> PluralCategory {
        guard case .number(let number) = argument else { return .other }
        return rules.category(of: number)
    }

    private static func language(_ name: String, _ service: String) throws(MessageCatalogueError) -> LanguageTag {
        guard let language = LanguageTag(name), language.description == name else {
            let reason = "a file's name must be a language tag and .json, for example pt-BR.json"
            throw MessageCatalogueError(file: "\(service)/\(name.prefix(80)).json", key: nil, reason: reason)
        }
        return language
    }

    /// Checks that each message exists in the reference and uses only its placeholders.
    private static func check(
        _ catalogue: MessageCatalogue,
        file: String,
        against reference: MessageCatalogue
    ) throws(MessageCatalogueError) {
        for (key, message) in catalogue.messages.sorted(by: { $0.key < $1.key }) {
            guard let original = reference.messages[key] else {
                throw MessageCatalogueError(file: file, key: key, reason: "is not a message of this service")
            }
            var named = message.placeholders
            if case .plural(let number, _) = message, !named.contains(number) { named.append(number) }
            var allowed = original.placeholders
            if case .plural(let number, _) = original, !allowed.contains(number) { allowed.append(number) }
            if let unknown = named.first(where: { !allowed.contains($0) }) {
                let names = allowed.isEmpty ? "none" : allowed.map { "{\($0)}" }.joined(separator: ", ")
                let reason = "has the placeholder {\(unknown)}; it may have \(names)"
                throw MessageCatalogueError(file: file, key: key, reason: reason)
            }
        }
    }

    private static func files(
        in folder: String?,
        _ service: String
    ) throws(MessageCatalogueError) -> [(name: String, bytes: [UInt8])] {
        func failed(_ file: String, _ reason: String) -> MessageCatalogueError {
            MessageCatalogueError(file: file, key: nil, reason: reason)
        }
        guard let root = folder else { return [] }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: root, isDirectory: &isFolder), isFolder.boolValue else {
            throw failed(root, "is not a folder")
        }
        let folder = "\(root)/\(service)"
        // The operator may have texts for other services only.
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder) else { return [] }
        guard isFolder.boolValue else { throw failed(folder, "is not a folder") }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: folder)
        } catch {
            throw failed(folder, "cannot be read")
        }
        let files = names.filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }.sorted()
        guard files.count <= maximumFiles else { throw failed(folder, "has more than \(maximumFiles) files") }
        var read: [(name: String, bytes: [UInt8])] = []
        for name in files {
            // Reading one byte more than allowed detects a file that is too large.
            guard let handle = FileHandle(forReadingAtPath: "\(folder)/\(name)") else {
                throw failed("\(service)/\(name)", "cannot be opened")
            }
            defer { try? handle.close() }  // A file that was only read cannot lose data.
            do {
                let data = try handle.read(upToCount: MessageCatalogue.maximumSize + 1) ?? Data()
                read.append((name, Array(data)))
            } catch {
                throw failed("\(service)/\(name)", "cannot be read")
            }
        }
        return read
    }
}
