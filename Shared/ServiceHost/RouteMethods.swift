import HTTPTypes
import Hummingbird
import Locks

/// The methods of each path, which distinguish a wrong method from an unknown path.
final class RouteMethods: Sendable {
    private struct Route: Sendable {
        let segments: [String]
        let method: HTTPRequest.Method

        func matches(_ path: [Substring]) -> Bool {
            segments.count == path.count
                && zip(segments, path).allSatisfy { $0.hasPrefix("{") || $0.hasPrefix(":") || $0 == $1 }
        }

        /// The number of literal segments; the route with the most is the closest match.
        var fixedWords: Int { segments.count { !$0.hasPrefix("{") && !$0.hasPrefix(":") } }
    }

    private let routes = Lock<[Route]>([])

    /// Stores the routes, after all were added.
    func set(_ described: [Router<SuiteContext>.RouteDescription]) {
        let parsed = described.map { route in
            Route(segments: route.path.description.split(separator: "/").map(String.init), method: route.method)
        }
        routes.withLock { $0 = parsed }
    }

    /// Returns the methods of a path, or nil if the path is unknown.
    func of(_ path: String) -> Set<HTTPRequest.Method>? {
        let segments = path.split(separator: "/")
        let matching = routes.withLock { $0.filter { $0.matches(segments) } }
        guard let closest = matching.map(\.fixedWords).max() else { return nil }
        let methods = Set(matching.filter { $0.fixedWords == closest }.map(\.method))
        // HEAD is allowed wherever GET is (RFC 9110, section 9.1).
        return methods.contains(.get) ? methods.union([.head]) : methods
    }
}
