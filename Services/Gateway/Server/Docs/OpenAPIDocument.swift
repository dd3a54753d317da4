import GatewayDocuments
import Yams

/// The public routes, as `docs/openapi.yaml` describes them.
package struct OpenAPIDocument {
    struct Path: Sendable {
        var template: String
        var methods: MethodSet
        /// The methods that need no credential: their `security` is empty or optional.
        var open: MethodSet
        /// The methods whose response is an event stream.
        var streams: MethodSet = []
    }

    /// The document's text, which `/openapi.yaml` serves.
    let text: String
    let root: Node
    let paths: [Path]

    /// Parses a document.
    ///
    /// - Throws: `GatewayConfigurationError` when the text is not an OpenAPI document.
    package init(_ text: String) throws {
        self.text = text
        guard let root = try Yams.compose(yaml: text), let paths = root["paths"]?.mapping else {
            throw GatewayConfigurationError("the OpenAPI document has no paths")
        }
        self.root = root
        self.paths = try paths.map { key, item in
            guard let template = key.string, template.hasPrefix("/"), let operations = item.mapping else {
                throw GatewayConfigurationError("the OpenAPI document has an invalid path: \(key)")
            }
            var path = Path(template: template, methods: [], open: [])
            for (method, operation) in operations {
                let method = MethodSet(openAPI: method.string ?? "")
                path.methods.formUnion(method)
                if Self.isOpen(operation) { path.open.formUnion(method) }
                if Self.isStream(operation) { path.streams.formUnion(method.subtracting(.head)) }
            }
            return path
        }
    }

    /// Returns `docs/openapi.yaml` with the common responses.
    package static func embedded() throws -> OpenAPIDocument {
        try OpenAPIDocument(CommonResponses.added(to: gateway_openapi().text))
    }

    /// Returns whether an operation needs no credential, which it must declare explicitly.
    static func isOpen(_ operation: Node) -> Bool {
        guard let security = operation["security"]?.sequence else { return false }
        return security.isEmpty || security.contains { $0.mapping?.isEmpty ?? false }
    }

    private static func isStream(_ operation: Node) -> Bool {
        // A lookup of `200` finds only an integer key, and a quoted status is a string, so the texts are compared.
        let good = operation["responses"]?.mapping?.first { $0.key.scalar?.string == "200" }?.value
        return good?["content"]?["text/event-stream"] != nil
    }

    func resolved(_ node: Node) -> Node {
        var node = node
        // References to references are legal; the limit of 8 stops cycles.
        for _ in 0..<8 {
            guard let reference = node["$ref"]?.string, reference.hasPrefix("#/") else { break }
            var target: Node? = root
            for step in reference.dropFirst(2).split(separator: "/") {
                target = target?[String(step)]
            }
            guard let target else { break }
            node = target
        }
        return node
    }
}

extension gateway_document {
    /// The document as text; its bytes are constants of the executable.
    var text: String { String(decoding: UnsafeBufferPointer(start: bytes, count: size), as: UTF8.self) }
}
