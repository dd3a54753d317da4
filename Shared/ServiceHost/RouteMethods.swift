import HTTPTypes
import Hummingbird
import Locks

/// Which methods each path takes, so that a wrong method is told from an unknown path.
final class RouteMethods: Sendable {
    private struct Route: Sendable {
        let segments: [String]
        let method: HTTPRequest.Method

        func matches(_ path: [Substring]) -> Bool {
            segments.count == path.count
                && zip(segments, path).allSatisfy { $0.hasPrefix("{") || $0.hasPrefix(":") || $0 == $1 }
        }

        /// Fixed words win over parameters: the more of them, the closer the match.
        var fixedWords: Int { segments.count { !$0.hasPrefix("{") && !$0.hasPrefix(":") } }
    }

    private let routes = Lock<[Route]>([])

    /// Takes the routes once all are added.
    func set(_ described: [Router<SuiteContext>.RouteDescription]) {
        let known = described.map { route in
            Route(segments: route.path.description.split(separator: "/").map(String.init), method: route.method)
        }
        routes.withLock { $0 = known }
    }

    /// The methods a path takes; nil where there is no such path.
    func of(_ path: String) -> Set<HTTPRequest.Method>? {
        let segments = path.split(separator: "/")
        let matching = routes.withLock { $0.filter { $0.matches(segments) } }
        guard let closest = matching.map(\.fixedWords).max() else { return nil }
        let methods = Set(matching.filter { $0.fixedWords == closest }.map(\.method))
        // What can be read can be asked for its head (RFC 9110, section 9.1).
        return methods.contains(.get) ? methods.union([.head]) : methods
    }
}
