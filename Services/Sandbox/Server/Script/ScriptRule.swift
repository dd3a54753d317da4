import Wire

/// What a service is told to do with requests that it would else take.
package struct ScriptRule: Codable, Equatable, Sendable {
    package enum Behaviour: String, Codable, CaseIterable, Sendable {
        /// Answers, with `status` and `reason`.
        case response
        /// Never answers.
        case silence
        /// Ends the stream (`RST_STREAM`), or with HTTP/1.1 the connection, without an answer.
        case reset
        /// Says that the connection ends, with a reason, and that this request was not looked at: APNs alone.
        case goaway
        /// Networks alone: a page in HTML, as what stands before a network sends when it is not there.
        case html
        /// Networks alone: half of the answer, and then the end of the connection.
        case cut
        /// Networks alone: JSON that ends too early.
        case malformed
        /// Networks alone: 50 MB.
        case large
        /// Networks alone: a page with nothing on it and more behind it.
        case empty
        /// Networks alone: from now on the token has expired.
        case expire
    }

    package var service: SandboxService
    /// The device token, the id of a subscription, or the name of somebody on a network; none for all.
    package var token: String?
    /// What the path of a request to a network must contain; none for all.
    package var path: String?
    package var behaviour: Behaviour
    /// The answer's status; the one that belongs to `reason` where there is none.
    package var status: Int?
    /// The answer's reason, as the provider spells it; the one that belongs to `status` where there is none.
    package var reason: String?
    /// Seconds, said in `Retry-After`.
    package var retryAfter: Int?
    /// Milliseconds since 1970: since when a token is not good any more, said by APNs with 410.
    package var timestamp: Int64?
    /// For how many requests; for all where there is none.
    package var times: Int?
    /// Seconds before the answer, or what is done instead.
    package var delay: Double?
    /// Whether the notification counts as arrived all the same, as when only the answer is lost.
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

    /// Refuses a rule that nobody could follow.
    func check() throws {
        if let status, !(200...599 ~= status) { throw APIError.invalid("status", "a status is 200 to 599") }
        if let times, times < 1 { throw APIError.invalid("times", "times is 1 or more") }
        if let delay, !(0...3_600 ~= delay) { throw APIError.invalid("delay", "delay is 0 to 3600 seconds") }
        if let reason, reason.utf8.count > 200 { throw APIError.invalid("reason", "reason has at most 200 bytes") }
        if let token, token.utf8.count > 4_096 { throw APIError.invalid("token", "token has at most 4096 bytes") }
        if behaviour == .goaway, service != .apns {
            throw APIError.invalid("behaviour", "goaway is of HTTP/2, which only apns speaks")
        }
        if behaviour.isOfNetworks, !service.isNetwork {
            throw APIError.invalid("behaviour", "\(behaviour.rawValue) is of social networks")
        }
        if let path, !(1...200 ~= path.utf8.count) { throw APIError.invalid("path", "path has 1 to 200 bytes") }
    }

    /// Whether it lets requests through, only later or noted otherwise.
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
