import NIOHTTP1

/// A public path template and what may be done with it.
final class Route: Sendable {
    enum Owner: Hashable, Sendable {
        /// The place of the service in the configuration.
        case service(Int)
        case gateway(GatewayPage)
        /// Described, but no service that is configured has it.
        case unassigned
    }

    /// `/conversations/{token}/messages`: what logs and metrics say instead of a path.
    let template: String
    /// The template's place in the table, for counters.
    let number: Int
    let owner: Owner
    let methods: MethodSet
    /// The methods that need no credential.
    let open: MethodSet
    /// The methods whose answer is a stream of events.
    let streams: MethodSet
    /// Whether its answers may be compressed.
    let isCompressible: Bool
    /// Whether the service says itself which pages of other origins may call (CORS).
    let handlesCORS: Bool
    /// The value of `Allow`.
    let allow: String
    /// Whether a `POST` makes an account, which has a limit of its own.
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

/// The pages that the gateway answers by itself.
enum GatewayPage: String, CaseIterable, Sendable {
    case health = "/health"
    case ready = "/ready"
    case status = "/status"
    case openAPI = "/openapi.yaml"
    case docs = "/docs"
    case socketEvents = "/docs/socket-events"
}

/// The methods that clients may use; all others are refused.
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

    /// Those whose request may be sent twice with the effect of one (RFC 9110, section 9.2.2).
    static let idempotent: MethodSet = [.get, .head, .put, .delete, .options]

    var names: [String] {
        Self.named.filter { contains($0.0) }.map(\.1)
    }
}

extension MethodSet {
    /// The method as a set of one; empty for a method that is not taken.
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

    /// The method of a path item's key in OpenAPI; `GET` brings `HEAD` along.
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
