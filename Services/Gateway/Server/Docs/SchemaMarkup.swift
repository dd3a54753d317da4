import Yams

struct SchemaMarkup {
    let document: OpenAPIDocument

    /// Returns a schema on one line: `array of <a>Message</a>`, `string, 1–64 characters`.
    func summary(_ node: Node) -> String {
        if let reference = node["$ref"]?.string, let name = reference.split(separator: "/").last {
            return "<a href=\"#schema-\(Markup.escaped(String(name)))\">\(Markup.escaped(String(name)))</a>"
        }
        for (key, word) in [("anyOf", " or "), ("oneOf", " or "), ("allOf", " and ")] {
            if let parts = node[key]?.sequence { return parts.map(summary).joined(separator: word) }
        }
        if let value = node["const"]?.string { return "<code>\(Markup.escaped(value))</code>" }
        if let values = node["enum"]?.sequence {
            return values.compactMap(\.string).map { "<code>\(Markup.escaped($0))</code>" }.joined(separator: " or ")
        }
        var words = type(node)
        if let items = node["items"] { words += " of \(summary(items))" }
        if let format = node["format"]?.string { words += " (\(Markup.escaped(format)))" }
        return words + bounds(node)
    }

    private func type(_ node: Node) -> String {
        if let types = node["type"]?.sequence {
            return types.compactMap(\.string).map(Markup.escaped).joined(separator: " or ")
        }
        return Markup.escaped(node["type"]?.string ?? (node["properties"] == nil ? "anything" : "object"))
    }

    private func bounds(_ node: Node) -> String {
        let pairs = [
            ("minimum", "maximum", ""), ("minLength", "maxLength", " characters"), ("minItems", "maxItems", " items"),
        ]
        let ranges = pairs.compactMap { low, high, unit -> String? in
            switch (node[low]?.string, node[high]?.string) {
            case (nil, nil): nil
            case (let low?, let high?): "\(low)–\(high)\(unit)"
            case (let low?, nil): "at least \(low)\(unit)"
            case (nil, let high?): "at most \(high)\(unit)"
            }
        }
        let standard = node["default"]?.string.map { "by default \($0)" }
        return (ranges + [standard].compactMap { $0 }).map { ", \(Markup.escaped($0))" }.joined()
    }

    /// Returns a table of a schema's properties, or an empty string when it has none.
    func table(_ node: Node) -> String {
        guard let properties = document.resolved(node)["properties"]?.mapping else { return "" }
        let required = Set(document.resolved(node)["required"]?.sequence?.compactMap(\.string) ?? [])
        let rows = properties.map { key, property in
            let name = key.string ?? ""
            let description =
                property["description"]?.string ?? document.resolved(property)["description"]?.string ?? ""
            return
                "<tr><td><code>\(Markup.escaped(name))</code>\(required.contains(name) ? "" : "<span>optional</span>")</td>"
                + "<td>\(summary(property))</td><td>\(Markup.inline(description))</td></tr>"
        }
        return "<table>\(rows.joined())</table>"
    }

    func example(_ node: Node) -> String {
        guard let example = node["examples"]?.sequence?.first ?? node["example"], example.mapping != nil else {
            return ""
        }
        return "<pre>\(Markup.escaped(json(example)))</pre>"
    }

    private func json(_ node: Node, indent: String = "") -> String {
        let inner = indent + "  "
        switch node {
        case .mapping(let mapping):
            let fields = mapping.map { "\(inner)\"\($0.key.string ?? "")\": \(json($0.value, indent: inner))" }
            return fields.isEmpty ? "{}" : "{\n\(fields.joined(separator: ",\n"))\n\(indent)}"
        case .sequence(let sequence):
            return "[\(sequence.map { json($0, indent: inner) }.joined(separator: ", "))]"
        case .scalar(let scalar):
            let isPlain = scalar.style == .plain || scalar.style == .any
            let isWord = ["true", "false", "null"].contains(scalar.string) || Double(scalar.string) != nil
            let quoted = scalar.string.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing(
                "\n",
                with: "\\n"
            )
            return isPlain && isWord ? scalar.string : "\"\(quoted)\""
        case .alias: return "null"
        }
    }
}
