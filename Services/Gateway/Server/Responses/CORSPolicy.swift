/// Which pages of other origins may call, and what they may see (the Fetch standard's CORS protocol).
///
/// Credentials travel in a header that scripts set themselves, never in a cookie, so `*` gives nothing away.
struct CORSPolicy: Sendable {
    /// Fields of an answer that scripts may read besides the safe ones.
    private static let exposed =
        "x-request-id, traceparent, retry-after, ratelimit, ratelimit-policy, location, etag, content-range, "
        + "accept-ranges, content-disposition, tus-resumable, upload-offset, upload-length, upload-expires"

    private let origins: Set<String>
    private let isOpenToAll: Bool

    init(origins: [String]) {
        self.origins = Set(origins)
        isOpenToAll = origins.contains("*")
    }

    /// Adds what a browser wants to know of an answer to a page of `origin`.
    func addFields(_ fields: inout [(String, String)], origin: String?) {
        // What depends on the origin must not be cached for another.
        if !isOpenToAll && !origins.isEmpty { fields.append(("vary", "origin")) }
        guard let origin, let allowed = allowed(origin) else { return }
        fields.append(("access-control-allow-origin", allowed))
        fields.append(("access-control-expose-headers", Self.exposed))
    }

    /// The fields of the answer to a preflight.
    func preflight(for route: Route, origin: String?, requestedHeaders: String?) -> [(String, String)] {
        var fields = [("allow", route.allow)]
        addFields(&fields, origin: origin)
        guard let origin, allowed(origin) != nil else { return fields }
        fields.append(("access-control-allow-methods", route.allow))
        if let requestedHeaders, requestedHeaders.utf8.count <= 1_024 {
            // Echoed, since `*` would leave out Authorization.
            fields.append(("access-control-allow-headers", requestedHeaders))
        }
        fields.append(("access-control-max-age", "7200"))
        fields.append(("vary", "access-control-request-headers"))
        return fields
    }

    private func allowed(_ origin: String) -> String? {
        if isOpenToAll { return "*" }
        return origins.contains(origin) ? origin : nil
    }
}
