package import ServiceClient

/// What somebody signed in can ask of photos; the `ServiceClient` carries his credential.
///
/// What there is to call is in an extension for each noun.
package struct PhotosClient: Sendable {
    let service: ServiceClient

    package init(_ service: ServiceClient) {
        self.service = service
    }

    /// The query of a list's page.
    static func page(_ limit: Int?, _ cursor: String?) -> [(String, String)] {
        var query: [(String, String)] = []
        if let limit { query.append(("limit", "\(limit)")) }
        if let cursor { query.append(("cursor", cursor)) }
        return query
    }
}
