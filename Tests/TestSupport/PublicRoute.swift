package import HTTPTypes
import Foundation
import ServiceHost
import Yams

/// A route from `docs/openapi.yaml`.
package struct PublicRoute: Hashable, Sendable, CustomStringConvertible {
    package let method: HTTPRequest.Method
    /// The path with its parameters in braces.
    package let template: String
    /// Whether it needs no credential.
    package let isOpen: Bool

    package var description: String { "\(method) \(template)" }

    /// The path with a value for each parameter.
    package var path: String { template.replacing(/\{\w+\}/, with: "something") }

    /// Returns the routes whose paths begin with one of these words, which are all routes that a service must serve.
    package static func below(_ words: String...) throws -> [PublicRoute] { try below(words) }

    package static func below(_ words: [String]) throws -> [PublicRoute] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/openapi.yaml")
        let text = try String(contentsOf: file.standardizedFileURL, encoding: .utf8)
        guard let document = try Yams.load(yaml: text) as? [String: Any],
            let paths = document["paths"] as? [String: Any]
        else { throw TestSupportError("docs/openapi.yaml has no paths") }
        return paths.filter { template, _ in words.contains { "\(template)/".hasPrefix("/\($0)/") } }
            .flatMap { template, item in routes(of: template, item as? [String: Any] ?? [:]) }
    }

    private static func routes(of template: String, _ item: [String: Any]) -> [PublicRoute] {
        item.compactMap { key, operation in
            guard let operation = operation as? [String: Any], let method = HTTPRequest.Method(key.uppercased()) else {
                return nil
            }
            let security = operation["security"] as? [[String: Any]]
            let isOpen = security.map { $0.isEmpty || $0.contains(where: \.isEmpty) } ?? false
            return PublicRoute(method: method, template: template, isOpen: isOpen)
        }
    }
}

extension TestService {
    /// The public routes of the service in the format of `PublicRoute`, without the HEAD routes that accompany GET.
    package var publicRoutes: [String] {
        let own = ["health", "internal", "metrics", "ready"]
        let read = Set(assembled.routes.filter { $0.method == "GET" }.map(\.path))
        return assembled.routes.filter { $0.method != "HEAD" || !read.contains($0.path) }
            .map { method, path in "\(method) \(path.replacing(/:(\w+)/) { "{\($0.1)}" })" }
            .filter { route in !own.contains { route.hasSuffix(" /\($0)") || route.contains(" /\($0)/") } }
    }
}
