import NIOHTTP1

final class Route: Sendable {
    enum Owner: Hashable, Sendable {
        /// The index of the service in the configuration.
        case service(Int)
        case gateway(GatewayPage)
        /// Documented, but no configured service serves it.
        case unassigned
    }

    /// For example `/conversations/{token}/messages`; logs and metrics use it instead of the path.
    let template: String
    let number: Int
    let owner: Owner
    let methods: MethodSet
    let open: MethodSet
    let streams: MethodSet
    let isCompressible: Bool
    /// Whether the service handles CORS itself.
    let handlesCORS: Bool
    let allow: String
    /// Whether a `POST` creates an account, which has a rate limit of its own.
    let isRegistration: Bool

    init(template: String, number: Int, owner: Owner, methods: MethodSet, open: MethodSet, streams: MethodSet) {
        self.template = template
        self.number = number
        self.owner = owner
        self.methods = methods
        self.open = open
        self.streams = streams
        isRegistration = ["/auth/register", "/auth/anonymous"].contains(template)
        isCompressible = Compression.isSafe(template)
        handlesCORS = template == "/socket.io/"
        allow = methods.union([.options]).names.joined(separator: ", ")
    }
}

enum GatewayPage: String, CaseIterable, Sendable {
    case health = "/health"
    case ready = "/ready"
    case status = "/status"
    case openAPI = "/openapi.yaml"
    case docs = "/docs"
    case socketEvents = "/docs/socket-events"
}

struct MethodSet: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    static let get = MethodSet(rawValue: 1)
    static let head = MethodSet(rawValue: 2)
    static let post = MethodSet(rawValue: 4)
    static let put = MethodSet(rawValue: 8)
    static let patch = MethodSet(rawValue: 16)
    static let delete = MethodSet(rawValue: 32)
    static let options = MethodSet(rawValue: 64)

    private static let named: [(MethodSet, String)] = [
        (.get, "GET"), (.head, "HEAD"), (.post, "POST"), (.put, "PUT"), (.patch, "PATCH"), (.delete, "DELETE"),
        (.options, "OPTIONS"),
    ]

    /// The methods whose request may be repeated without a further effect (RFC 9110, section 9.2.2).
    static let idempotent: MethodSet = [.get, .head, .put, .delete, .options]

    var names: [String] {
        Self.named.filter { contains($0.0) }.map(\.1)
    }
}

extension MethodSet {
    /// Creates the set of one method, or the empty set for an unsupported method.
    init(_ method: HTTPMethod) {
        switch method {
        case .GET: self = .get
        case .HEAD: self = .head
        case .POST: self = .post
        case .PUT: self = .put
        case .PATCH: self = .patch
        case .DELETE: self = .delete
        case .OPTIONS: self = .options
        default: self = []
        }
    }

    /// Creates the set for a method key in OpenAPI; `get` includes `HEAD`.
    init(openAPI key: String) {
        switch key {
        case "get": self = [.get, .head]
        case "head": self = .head
        case "post": self = .post
        case "put": self = .put
        case "patch": self = .patch
        case "delete": self = .delete
        case "options": self = .options
        default: self = []
        }
    }
}
