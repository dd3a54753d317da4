import GatewayDocuments
import Yams

/// The description of every public route, `docs/openapi.yaml`, as far as the gateway goes by it.
package struct OpenAPIDocument {
    struct Path: Sendable {
        var template: String
        var methods: MethodSet
        /// The methods that need no credential: those whose `security` is empty or may be left out.
        var open: MethodSet
        /// The methods whose answer is a stream of events, which goes on for as long as somebody listens.
        var streams: MethodSet = []
    }

    /// The document as it was read, which `/openapi.yaml` answers.
    let text: String
    let root: Node
    let paths: [Path]

    /// - Throws: `GatewayConfigurationError` where the text is no OpenAPI document.
    package init(_ text: String) throws {
        self.text = text
        guard let root = try Yams.compose(yaml: text), let paths = root["paths"]?.mapping else {
            throw GatewayConfigurationError("the OpenAPI document has no paths")
        }
        self.root = root
        self.paths = try paths.map { key, item in
            guard let template = key.string, template.hasPrefix("/"), let operations = item.mapping else {
                throw GatewayConfigurationError("the OpenAPI document has a path that is none: \(key)")
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

    /// The document that was built in.
    package static func embedded() throws -> OpenAPIDocument {
        try OpenAPIDocument(gateway_openapi().text)
    }

    /// Closed is the default: only an operation that says so itself is open.
    private static func isOpen(_ operation: Node) -> Bool {
        guard let security = operation["security"]?.sequence else { return false }
        return security.isEmpty || security.contains { $0.mapping?.isEmpty ?? false }
    }

    private static func isStream(_ operation: Node) -> Bool {
        // A status that is looked up as a key would be a number, and in quotation marks it is none.
        let good = operation["responses"]?.mapping?.first { $0.key.scalar?.string == "200" }?.value
        return good?["content"]?["text/event-stream"] != nil
    }

    /// What a `$ref` inside the document points at, or the node itself.
    func resolved(_ node: Node) -> Node {
        var node = node
        // A reference to a reference is legal, a ring of them is not followed for long.
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
    /// The document's bytes are constants of the executable.
    var text: String { String(decoding: UnsafeBufferPointer(start: bytes, count: size), as: UTF8.self) }
}
