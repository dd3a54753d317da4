import Yams

/// The responses that most operations share, so that an operation of `docs/openapi.yaml` lists only its own.
///
/// A response that the operation lists takes precedence. `x-omit-responses` lists the common statuses that the operation
/// never returns; the completed document does not contain it.
struct CommonResponses {
    /// The statuses, in the order of the document, and their names in `components/responses`.
    static let names: [(status: String, name: String)] = [
        ("400", "Invalid"), ("403", "Forbidden"), ("408", "RequestTimeout"), ("413", "TooLarge"), ("414", "URITooLong"),
        ("415", "UnsupportedMediaType"), ("429", "TooManyRequests"), ("431", "HeadersTooLarge"), ("502", "BadGateway"),
        ("503", "Unavailable"), ("504", "GatewayTimeout"),
    ]

    /// The lines of the short document.
    private let lines: [Substring]
    /// The lines to add, by the index of the line that they precede.
    private var added: [Int: [String]] = [:]
    /// The indices of the lines with `x-omit-responses`.
    private var removed: Set<Int> = []

    /// Returns the complete document for a short one.
    ///
    /// All other lines stay as they are, so that the text keeps its layout.
    ///
    /// - Throws: `GatewayConfigurationError` when an operation has no `responses` in block style, or `x-omit-responses` lists
    ///   a status that the operation lists itself or that is not common to it.
    static func added(to text: String) throws -> String {
        var document = CommonResponses(lines: text.split(separator: "\n", omittingEmptySubsequences: false))
        for (template, item) in try Yams.compose(yaml: text)?["paths"]?.mapping ?? [:] {
            for (method, operation) in item.mapping ?? [:] where !MethodSet(openAPI: method.string ?? "").isEmpty {
                try document.complete(operation, named: "\(method.string ?? "") \(template.string ?? "")")
            }
        }
        return document.text
    }

    private init(lines: [Substring]) {
        self.lines = lines
    }

    private var text: String {
        var text: [Substring] = []
        for (index, line) in lines.enumerated() {
            text += (added[index] ?? []).map { Substring($0) }
            if !removed.contains(index) { text.append(line) }
        }
        return text.joined(separator: "\n")
    }

    /// Adds the common responses to an operation.
    private mutating func complete(_ operation: Node, named name: String) throws {
        let (keyLine, value) = Self.entry("responses", of: operation) ?? (0, [:])
        let own = (value.mapping ?? [:]).compactMap { status, _ in
            status.mark.map { (status: status.scalar?.string ?? "", index: $0.line - 1, column: $0.column) }
        }
        // Marks count lines from 1, so `keyLine` is also the index of the line below the key.
        guard let last = own.last, own[0].index >= keyLine else {
            throw GatewayConfigurationError("the OpenAPI document needs `responses` in block style: \(name)")
        }

        var common = Self.names
        if OpenAPIDocument.isOpen(operation) { common.removeAll { $0.status == "403" } }
        if operation["requestBody"] == nil { common.removeAll { $0.status == "415" } }
        if let (line, value) = Self.entry("x-omit-responses", of: operation) {
            let omitted = Set(value.sequence?.compactMap(\.scalar?.string) ?? [])
            guard omitted.isSubset(of: common.map(\.status)), omitted.isDisjoint(with: own.map(\.status)) else {
                throw GatewayConfigurationError(
                    "`x-omit-responses` may list only common responses that the operation does not list itself: \(name)"
                )
            }
            common.removeAll { omitted.contains($0.status) }
            removed.insert(line - 1)
        }

        let indentation = String(repeating: " ", count: last.column - 1)
        let end = end(of: last.index, indentation)
        for (status, name) in common where !own.contains(where: { $0.status == status }) {
            let index = own.first { $0.status > status }?.index ?? end
            let line = "\(indentation)'\(status)': {$ref: '#/components/responses/\(name)'}"
            added[index, default: []].append(line)
        }
    }

    /// Returns the index of the line after the block that begins at `index`.
    private func end(of index: Int, _ indentation: String) -> Int {
        var end = index + 1
        while end < lines.count, lines[end].isEmpty || lines[end].hasPrefix(indentation + " ") { end += 1 }
        while lines[end - 1].isEmpty { end -= 1 }
        return end
    }

    /// Returns the line of a key, counted from 1, and its value.
    private static func entry(_ key: String, of operation: Node) -> (line: Int, value: Node)? {
        guard let entry = operation.mapping?.first(where: { $0.key.scalar?.string == key }) else { return nil }
        return entry.key.mark.map { ($0.line, entry.value) }
    }
}
