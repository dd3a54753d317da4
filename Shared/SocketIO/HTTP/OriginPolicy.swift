import NIOHTTP1

/// Where browsers may come from, and what they are told about it (the Fetch standard's CORS protocol).
struct OriginPolicy: Sendable {
    let allowed: AllowedOrigins
    let allowsCredentials: Bool

    /// Whether a page may connect; CORS does not cover WebSockets, so they are refused here.
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

    /// What every answer says, errors too.
    func addFields(to headers: inout HTTPHeaders, for head: HTTPRequestHead) {
        if allowed == .same { return }
        headers.add(name: "Vary", value: "Origin")
        guard allow(head) else { return }
        let origin = head.headers.first(name: "origin")
        headers.add(name: "Access-Control-Allow-Origin", value: origin ?? "*")
        if allowsCredentials, origin != nil { headers.add(name: "Access-Control-Allow-Credentials", value: "true") }
    }

    /// What the answer to OPTIONS says besides.
    func addPreflightFields(to headers: inout HTTPHeaders, for head: HTTPRequestHead) {
        guard allowed != .same, allow(head) else { return }
        headers.add(name: "Access-Control-Allow-Methods", value: "GET,HEAD,PUT,PATCH,POST,DELETE")
        let asked = head.headers["access-control-request-headers"]
        guard !asked.isEmpty else { return }
        headers.add(name: "Access-Control-Allow-Headers", value: asked.joined(separator: ","))
    }
}
