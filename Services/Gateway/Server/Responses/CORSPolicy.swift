/// The CORS policy: which origins may call, and which response fields their scripts may read (Fetch standard).
///
/// Credentials travel in header fields that scripts set, never in cookies, so `*` is safe.
struct CORSPolicy: Sendable {
    /// Response fields that scripts may read in addition to the safelisted ones.
    private static let exposed =
        "x-request-id, traceparent, retry-after, ratelimit, ratelimit-policy, location, etag, content-range, "
        + "accept-ranges, content-disposition, tus-resumable, upload-offset, upload-length, upload-expires"

    private let origins: Set<String>
    private let isOpenToAll: Bool

    init(origins: [String]) {
        self.origins = Set(origins)
        isOpenToAll = origins.contains("*")
    }

    func addFields(_ fields: inout [(String, String)], origin: String?) {
        // A response that depends on the origin must not be cached for another origin.
        if !isOpenToAll && !origins.isEmpty { fields.append(("vary", "origin")) }
        guard let origin, let allowed = allowed(origin) else { return }
        fields.append(("access-control-allow-origin", allowed))
        fields.append(("access-control-expose-headers", Self.exposed))
    }

    func preflight(for route: Route, origin: String?, requestedHeaders: String?) -> [(String, String)] {
        var fields = [("allow", route.allow)]
        addFields(&fields, origin: origin)
        guard let origin, allowed(origin) != nil else { return fields }
        fields.append(("access-control-allow-methods", route.allow))
        if let requestedHeaders, requestedHeaders.utf8.count <= 1_024 {
            // Echoed, because `*` does not cover `Authorization`.
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
