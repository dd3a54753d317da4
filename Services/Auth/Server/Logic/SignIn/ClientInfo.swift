import ServiceHost

struct ClientInfo: Sendable {
    var address: IPAddress?
    var userAgent: String?
    /// The language for a new user, from `Accept-Language`: a BCP 47 tag in canonical case.
    var language: String?
}
