import Yams

struct OperationMarkup {
    let document: OpenAPIDocument
    private let schemas: SchemaMarkup

    init(document: OpenAPIDocument) {
        self.document = document
        schemas = SchemaMarkup(document: document)
    }

    static func anchor(_ method: String, _ template: String) -> String {
        "\(method)\(template)".replacing("/", with: "-").filter { $0.isLetter || $0.isNumber || $0 == "-" }
    }

    func html(method: String, template: String, item: Node, operation: Node) -> String {
        let isOpen = operation["security"]?.sequence.map { $0.isEmpty } ?? false
        var html = "<article id=\"\(Self.anchor(method, template))\">"
        html += "<h3><b class=\"\(method)\">\(method.uppercased())</b> <code>\(Markup.escaped(template))</code></h3>"
        html +=
            "<p class=\"lead\">\(Markup.inline(operation["summary"]?.string ?? ""))"
            + (isOpen ? " <span>public</span>" : "") + "</p>"
        html += Markup.blocks(operation["description"]?.string ?? "")
        html += parameters(
            (item["parameters"]?.sequence.map(Array.init) ?? [])
                + (operation["parameters"]?.sequence.map(Array.init) ?? [])
        )
        if let body = operation["requestBody"] { html += "<h4>Body</h4>\(content(document.resolved(body)))" }
        if let responses = operation["responses"]?.mapping { html += responseTable(responses) }
        return html + "</article>"
    }

    private func parameters(_ list: [Node]) -> String {
        guard !list.isEmpty else { return "" }
        let rows = list.map(document.resolved).map { parameter in
            let isRequired = parameter["required"]?.bool ?? false
            return "<tr><td><code>\(Markup.escaped(parameter["name"]?.string ?? ""))</code>"
                + "<span>\(Markup.escaped(parameter["in"]?.string ?? ""))\(isRequired ? "" : ", optional")</span></td>"
                + "<td>\(parameter["schema"].map(schemas.summary) ?? "")</td>"
                + "<td>\(Markup.inline(parameter["description"]?.string ?? ""))</td></tr>"
        }
        return "<h4>Parameters</h4><table>\(rows.joined())</table>"
    }

    private func content(_ body: Node) -> String {
        guard let types = body["content"]?.mapping else { return "" }
        return types.map { type, media in
            let schema = media["schema"]
            let shape = schema.map(schemas.summary) ?? ""
            let inlineTable = schema.map { $0["$ref"] == nil ? schemas.table($0) : "" } ?? ""
            let example = schemas.example(media)
            return "<p><code>\(Markup.escaped(type.string ?? ""))</code> \(shape)</p>\(inlineTable)\(example)"
        }.joined()
    }

    private func responseTable(_ responses: Node.Mapping) -> String {
        let rows = responses.map { status, response in
            let response = document.resolved(response)
            let types = response["content"]?.mapping.map { $0.compactMap { $0.value["schema"] } } ?? []
            let status = status.string ?? ""
            return "<tr class=\"s\(status.prefix(1))\"><td><code>\(Markup.escaped(status))</code></td>"
                + "<td>\(types.first.map(schemas.summary) ?? "")</td>"
                + "<td>\(Markup.inline(response["description"]?.string ?? ""))</td></tr>"
        }
        return "<h4>Responses</h4><table>\(rows.joined())</table>"
    }
}
