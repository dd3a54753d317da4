/// The handlers of events, under each name of an event.
struct SocketEvents: Sendable {
    typealias Handler = @Sendable (SocketCall) async throws -> SocketResponse

    /// Signs in; every other event requires a sign-in.
    static let authenticate = "authenticate"

    private var handlers: [String: Handler] = [:]

    mutating func on(_ names: String..., use handler: @escaping Handler) {
        for name in names { handlers[name] = handler }
    }

    subscript(_ name: String) -> Handler? { handlers[name] }

    func contains(_ name: String) -> Bool { name == Self.authenticate || handlers[name] != nil }
}
