import Testing
import Yams

@testable import GatewayServer

@Suite("OpenAPI document") struct OpenAPIDocumentTests {
    @Test("Each operation with a body has an example of it")
    func examples() throws {
        let document = try OpenAPIDocument.embedded()
        var bodies = 0
        for (path, item) in try #require(document.root["paths"]?.mapping) {
            for (method, operation) in try #require(item.mapping) {
                guard let body = operation["requestBody"] else { continue }
                let types = try #require(document.resolved(body)["content"]?.mapping)
                bodies += 1
                let hasExample = types.contains { $0.value["example"] != nil || $0.value["examples"] != nil }
                #expect(hasExample, "\(method.string ?? "") \(path.string ?? "")")
            }
        }
        #expect(bodies >= 60)
    }

    @Test("No schema has alternatives beside its properties, which client generators drop")
    func alternatives() throws {
        let schemas = try #require(OpenAPIDocument.embedded().root["components"]?["schemas"]?.mapping)
        #expect(schemas.count >= 180)
        for (name, schema) in schemas {
            let hasAlternatives = ["anyOf", "oneOf"].contains { key in
                schema[key]?.sequence?.contains { $0["required"] != nil } ?? false
            }
            #expect(!hasAlternatives, "\(name.string ?? "")")
        }
    }
}
