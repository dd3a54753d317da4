import Foundation
import Testing
import Yams

@testable import GatewayServer

@Suite("Common responses") struct CommonResponsesTests {
    @Test("An operation gets the common responses that it neither lists nor omits")
    func added() throws {
        let document = """
            paths:
              /notes:
                parameters: []
                get:
                  responses:
                    '200': {description: The notes.}
                    '404':
                      description: |
                        No notes.

                        The user has none.

              /health:
                post:
                  security: []
                  requestBody: {}
                  x-omit-responses: ['502', '504']
                  responses:
                    '200': {description: The report.}
                    '503':
                      description: Not ready.
            components: {}
            """
        let expected = """
            paths:
              /notes:
                parameters: []
                get:
                  responses:
                    '200': {description: The notes.}
                    '400': {$ref: '#/components/responses/Invalid'}
                    '403': {$ref: '#/components/responses/Forbidden'}
                    '404':
                      description: |
                        No notes.

                        The user has none.
                    '408': {$ref: '#/components/responses/RequestTimeout'}
                    '413': {$ref: '#/components/responses/TooLarge'}
                    '414': {$ref: '#/components/responses/URITooLong'}
                    '429': {$ref: '#/components/responses/TooManyRequests'}
                    '431': {$ref: '#/components/responses/HeadersTooLarge'}
                    '502': {$ref: '#/components/responses/BadGateway'}
                    '503': {$ref: '#/components/responses/Unavailable'}
                    '504': {$ref: '#/components/responses/GatewayTimeout'}

              /health:
                post:
                  security: []
                  requestBody: {}
                  responses:
                    '200': {description: The report.}
                    '400': {$ref: '#/components/responses/Invalid'}
                    '408': {$ref: '#/components/responses/RequestTimeout'}
                    '413': {$ref: '#/components/responses/TooLarge'}
                    '414': {$ref: '#/components/responses/URITooLong'}
                    '415': {$ref: '#/components/responses/UnsupportedMediaType'}
                    '429': {$ref: '#/components/responses/TooManyRequests'}
                    '431': {$ref: '#/components/responses/HeadersTooLarge'}
                    '503':
                      description: Not ready.
            components: {}
            """
        #expect(try CommonResponses.added(to: document) == expected)
    }

    @Test(
        "An operation without its own responses, or with an omission that has no effect, is invalid",
        arguments: [
            "summary: A",
            "responses: {'200': {description: A}}",
            "x-omit-responses: ['404']\n      responses:\n        '200': {description: A}",
            "x-omit-responses: ['415']\n      responses:\n        '200': {description: A}",
            "x-omit-responses: ['400']\n      responses:\n        '400': {description: A}",
        ]
    )
    func invalid(operation: String) {
        #expect(throws: GatewayConfigurationError.self) {
            try CommonResponses.added(to: "paths:\n  /a:\n    get:\n      \(operation)\n")
        }
    }

    @Test("The served document has the common responses, and docs/openapi.yaml does not repeat them")
    func served() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardizedFileURL
        let file = try String(contentsOf: root.appending(path: "docs/openapi.yaml"), encoding: .utf8)
        // Open operations list 403 themselves, and operations without a body 415.
        let common = CommonResponses.names.filter { !["403", "415"].contains($0.status) }
        let references = Set(common.map { "#/components/responses/\($0.name)" })
        for (name, responses) in try Self.responses(OpenAPIDocument(file)) {
            let repeated = responses.values.compactMap { $0["$ref"]?.string }.filter(references.contains)
            #expect(repeated.isEmpty, "\(name)")
        }

        let served = try OpenAPIDocument.embedded()
        let operations = try Self.responses(served)
        #expect(operations.count >= 190)
        for (name, responses) in operations {
            let statuses = Array(responses.keys.compactMap { $0.scalar?.string })
            #expect(statuses == statuses.sorted(), "\(name)")
            #expect(Set(statuses).isSuperset(of: ["408", "414", "429", "431", "503"]), "\(name)")
        }
        #expect(!served.text.contains("\n      x-omit-responses:"))
    }

    /// Returns the responses of each operation, with the operation's method and path.
    private static func responses(_ document: OpenAPIDocument) throws -> [(name: String, responses: Node.Mapping)] {
        try #require(document.root["paths"]?.mapping).flatMap { path, item in
            try #require(item.mapping).compactMap { method, operation in
                operation["responses"]?.mapping.map { ("\(method.string ?? "") \(path.string ?? "")", $0) }
            }
        }
    }
}
