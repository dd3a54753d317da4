import ServiceHost

/// What is known of a client besides who it says it is.
struct ClientInfo: Sendable {
    var address: IPAddress?
    var userAgent: String?
    /// The language that a new user has, by the header `Accept-Language`: a BCP 47 tag in canonical case.
    var language: String?
}
