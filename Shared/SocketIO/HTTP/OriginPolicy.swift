import NIOHTTP1

/// The allowed origins of browser pages, and the response fields for them (the CORS protocol of the Fetch standard).
struct OriginPolicy: Sendable {
    let allowed: AllowedOrigins
    let allowsCredentials: Bool

    /// Returns whether the page may connect.
    ///
    /// CORS does not cover WebSockets, so the server refuses them.
    func allow(_ head: HTTPRequestHead) -> Bool {
        guard let origin = head.headers.first(name: "origin") else { return true }
        switch allowed {
        case .any: return true
        case .only(let list): return list.contains(origin)
        case .same:
            let host = head.headers.first(name: "host")?.lowercased()
            return host == origin.drop { $0 != "/" }.drop { $0 == "/" }.lowercased()
        }
    }

    /// Adds the CORS fields of every response, including errors.
    func addFields(to headers: inout HTTPHeaders, for head: HTTPRequestHead) {
        if allowed == .same { return }
        headers.add(name: "Vary", value: "Origin")
        guard allow(head) else { return }
        let origin = head.headers.first(name: "origin")
        headers.add(name: "Access-Control-Allow-Origin", value: origin ?? "*")
        if allowsCredentials, origin != nil { headers.add(name: "Access-Control-Allow-Credentials", value: "true") }
    }

    /// Adds the CORS fields of the response to OPTIONS.
    func addPreflightFields(to headers: inout HTTPHeaders, for head: HTTPRequestHead) {
        guard allowed != .same, allow(head) else { return }
        headers.add(name: "Access-Control-Allow-Methods", value: "GET,HEAD,PUT,PATCH,POST,DELETE")
        let requested = head.headers["access-control-request-headers"]
        guard !requested.isEmpty else { return }
        headers.add(name: "Access-Control-Allow-Headers", value: requested.joined(separator: ","))
    }
}
