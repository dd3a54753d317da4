import ServiceHost

/// What is known of a client besides who it says it is.
struct Caller: Sendable {
    var address: IPAddress?
    var userAgent: String?
}
