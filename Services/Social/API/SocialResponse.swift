package import Foundation

/// What every read answers, as the seed has it: `{"meta": …, "response": {"items": […]}}`.
package struct SocialResponse: Codable, Hashable, Sendable {
    package struct Meta: Codable, Hashable, Sendable {
        /// 200, whatever single networks say.
        package var code = 200
        package var networks: [Network: NetworkReport]
        /// The cursor of the page after this one; absent at the end.
        package var next: String?

        package init(networks: [Network: NetworkReport], next: String? = nil) {
            self.networks = networks
            self.next = next
        }
    }

    package struct Response: Codable, Hashable, Sendable {
        package var items: [Item]

        package init(items: [Item]) { self.items = items }
    }

    package var meta: Meta
    package var response: Response

    package init(items: [Item], networks: [Network: NetworkReport], next: String? = nil) {
        meta = Meta(networks: networks, next: next)
        response = Response(items: items)
    }
}

/// How it went with one network of an answer.
package struct NetworkReport: Codable, Hashable, Sendable {
    /// A status of HTTP.
    package var code: Int
    /// For a person; absent where all is well.
    package var reason: String?
    /// When it is worth asking again, where that is known.
    package var retryAt: Date?

    package init(code: Int, reason: String? = nil, retryAt: Date? = nil) {
        self.code = code
        self.reason = reason
        self.retryAt = retryAt
    }

    package static let ok = NetworkReport(code: 200)
}
