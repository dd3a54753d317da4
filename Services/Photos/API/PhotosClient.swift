package import ServiceClient

/// A client of photos for a signed-in user; the `ServiceClient` sends the user's access token.
///
/// The calls are in one extension for each noun.
package struct PhotosClient: Sendable {
    let service: ServiceClient

    package init(_ service: ServiceClient) {
        self.service = service
    }

    static func page(_ limit: Int?, _ cursor: String?) -> [(String, String)] {
        var query: [(String, String)] = []
        if let limit { query.append(("limit", "\(limit)")) }
        if let cursor { query.append(("cursor", cursor)) }
        return query
    }
}
