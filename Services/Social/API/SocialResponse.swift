package import Foundation

/// The response to every read, in the seed's format: `{"meta": …, "response": {"items": […]}}`.
package struct SocialResponse: Codable, Hashable, Sendable {
    package struct Meta: Codable, Hashable, Sendable {
        /// Always 200, even if single networks failed.
        package var code = 200
        package var networks: [Network: NetworkReport]
        /// The cursor of the next page; absent on the last page.
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

/// The outcome of one network in a response.
package struct NetworkReport: Codable, Hashable, Sendable {
    /// An HTTP status.
    package var code: Int
    /// The reason of a failure in English; absent on success.
    package var reason: String?
    /// The earliest time at which a retry can succeed, if it is known.
    package var retryAt: Date?

    package init(code: Int, reason: String? = nil, retryAt: Date? = nil) {
        self.code = code
        self.reason = reason
        self.retryAt = retryAt
    }

    package static let ok = NetworkReport(code: 200)
}
