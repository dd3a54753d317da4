/// What is done about each event, by every name it goes by.
struct SocketEvents: Sendable {
    typealias Handler = @Sendable (SocketCall) async throws -> SocketResponse

    /// Signs in; everything else is for those who have.
    static let authenticate = "authenticate"

    private var handlers: [String: Handler] = [:]

    mutating func on(_ names: String..., use handler: @escaping Handler) {
        for name in names { handlers[name] = handler }
    }

    subscript(_ name: String) -> Handler? { handlers[name] }

    func contains(_ name: String) -> Bool { name == Self.authenticate || handlers[name] != nil }
}
