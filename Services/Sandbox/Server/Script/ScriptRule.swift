import Wire

/// A rule for the requests that a service would otherwise accept.
package struct ScriptRule: Codable, Equatable, Sendable {
    package enum Behaviour: String, Codable, CaseIterable, Sendable {
        /// Responds with `status` and `reason`.
        case response
        /// Never responds.
        case silence
        /// Resets the HTTP/2 stream (`RST_STREAM`) or closes the HTTP/1.1 connection, without a response.
        case reset
        /// APNs only: sends GOAWAY with a reason, which means that this request was not processed.
        case goaway
        /// Networks only: responds with an HTML page, like a reverse proxy in front of an unavailable network.
        case html
        /// Networks only: sends half of the response, then closes the connection.
        case cut
        /// Networks only: responds with truncated JSON.
        case malformed
        /// Networks only: responds with 50 MB.
        case large
        /// Networks only: responds with an empty page that names a next page.
        case empty
        /// Networks only: makes the token expire immediately.
        case expire
    }

    package var service: SandboxService
    /// The device token, the subscription's id, or the name of a person on a network; nil matches all requests.
    package var token: String?
    /// A text that the path of a request to a network must contain; nil matches all paths.
    package var path: String?
    package var behaviour: Behaviour
    /// The response's status; nil means the status that belongs to `reason`.
    package var status: Int?
    /// The response's reason in the provider's spelling; nil means the reason that belongs to `status`.
    package var reason: String?
    /// The seconds in `Retry-After`.
    package var retryAfter: Int?
    /// The time since which a token is invalid, which APNs reports with 410, in milliseconds since 1970.
    package var timestamp: Int64?
    /// The number of requests that the rule applies to; nil means all.
    package var times: Int?
    /// The seconds before the response or before the action that replaces it.
    package var delay: Double?
    /// Whether the service still accepts the request, as when only the response is lost.
    package var accepts: Bool?

    package init(
        service: SandboxService,
        token: String? = nil,
        path: String? = nil,
        behaviour: Behaviour = .response,
        status: Int? = nil,
        reason: String? = nil,
        retryAfter: Int? = nil,
        timestamp: Int64? = nil,
        times: Int? = nil,
        delay: Double? = nil,
        accepts: Bool? = nil
    ) {
        self.service = service
        self.token = token
        self.path = path
        self.behaviour = behaviour
        self.status = status
        self.reason = reason
        self.retryAfter = retryAfter
        self.timestamp = timestamp
        self.times = times
        self.delay = delay
        self.accepts = accepts
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        service = try fields.decode(SandboxService.self, forKey: .service)
        token = try fields.decodeIfPresent(String.self, forKey: .token)
        path = try fields.decodeIfPresent(String.self, forKey: .path)
        behaviour = try fields.decodeIfPresent(Behaviour.self, forKey: .behaviour) ?? .response
        status = try fields.decodeIfPresent(Int.self, forKey: .status)
        reason = try fields.decodeIfPresent(String.self, forKey: .reason)
        retryAfter = try fields.decodeIfPresent(Int.self, forKey: .retryAfter)
        timestamp = try fields.decodeIfPresent(Int64.self, forKey: .timestamp)
        times = try fields.decodeIfPresent(Int.self, forKey: .times)
        delay = try fields.decodeIfPresent(Double.self, forKey: .delay)
        accepts = try fields.decodeIfPresent(Bool.self, forKey: .accepts)
    }

    /// Checks that the service can follow the rule.
    ///
    /// - Throws: `APIError` with the invalid field.
    func check() throws {
        if let status, !(200...599 ~= status) { throw APIError.invalid("status", "status must be 200 to 599") }
        if let times, times < 1 { throw APIError.invalid("times", "times must be at least 1") }
        if let delay, !(0...3_600 ~= delay) { throw APIError.invalid("delay", "delay must be 0 to 3600 seconds") }
        if let reason, reason.utf8.count > 200 { throw APIError.invalid("reason", "reason is limited to 200 bytes") }
        if let token, token.utf8.count > 4_096 { throw APIError.invalid("token", "token is limited to 4096 bytes") }
        if behaviour == .goaway, service != .apns {
            throw APIError.invalid("behaviour", "goaway is supported only by apns, which uses HTTP/2")
        }
        if behaviour.isOfNetworks, !service.isNetwork {
            throw APIError.invalid("behaviour", "\(behaviour.rawValue) is supported only by social networks")
        }
        if let path, !(1...200 ~= path.utf8.count) { throw APIError.invalid("path", "path must have 1 to 200 bytes") }
    }

    /// Whether requests succeed, possibly after a delay.
    var isLenient: Bool {
        behaviour == .response && (status.map { 200...299 ~= $0 } ?? (reason == nil))
    }
}

extension ScriptRule.Behaviour {
    var isOfNetworks: Bool {
        switch self {
        case .html, .cut, .malformed, .large, .empty, .expire: true
        case .response, .silence, .reset, .goaway: false
        }
    }
}
