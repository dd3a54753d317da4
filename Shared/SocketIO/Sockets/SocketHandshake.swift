public import NIOCore
public import NIOHTTP1

/// A client's request to connect to a namespace.
public struct SocketHandshake: Sendable {
    /// The head of the request that opened the connection; nil if it was released (``HandshakeRetention``).
    public let head: HTTPRequestHead?
    /// The peer address of the connection.
    public let remoteAddress: SocketAddress?
    /// The client's `auth` option: a JSON object, `{}` if there is none.
    ///
    /// Clients of revision 3 cannot send it; they use the query.
    public let auth: ByteBuffer
    /// The query of the opening request, or the query that a revision 3 client appended to the namespace.
    public let query: SocketQuery
    /// The client's protocol revision.
    public let revision: EngineRevision
}

/// The percent-decoded parameters of a URL's query.
public struct SocketQuery: Hashable, Sendable {
    private var pairs: [(name: String, value: String)] = []

    /// The first value of a parameter; nil if it is missing.
    public subscript(_ name: String) -> String? {
        pairs.first { $0.name == name }?.value
    }

    /// Parses a query, without its question mark.
    public init(_ text: Substring) {
        // Splits by bytes: splitting by characters takes quadratic time in a run of combining marks.
        for part in text.utf8.split(separator: UInt8(ascii: "&")) {
            let halves = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                .map { Substring($0) }
            pairs.append((Self.decoded(halves[0]), halves.count == 2 ? Self.decoded(halves[1]) : ""))
        }
    }

    private static func decoded(_ text: Substring) -> String {
        let isPlain = !text.utf8.contains { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }
        if isPlain { return String(text) }
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2, let value = UInt8(Substring(digits), radix: 16) {
                bytes.append(value)
                rest.removeFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    public static func == (lhs: SocketQuery, rhs: SocketQuery) -> Bool {
        lhs.pairs.elementsEqual(rhs.pairs, by: ==)
    }

    public func hash(into hasher: inout Hasher) {
        for pair in pairs {
            hasher.combine(pair.name)
            hasher.combine(pair.value)
        }
    }
}

/// The decision whether a socket may connect to a namespace.
public enum ConnectDecision: Sendable {
    /// Connects the socket.
    case accept
    /// Refuses the socket with an error for the client.
    case refuse(ConnectRefusal)
    /// Decides asynchronously. Until then, a packet from the client to the namespace closes its connection.
    case later(@Sendable () async -> ConnectDecision)

    /// Refuses the socket with a message for the client.
    public static func refuse(_ message: String) -> ConnectDecision { .refuse(ConnectRefusal(message)) }
}

/// The error that a refused client receives.
public struct ConnectRefusal: Error, Hashable, Sendable {
    /// The error's message, for people.
    public var message: String
    /// A JSON value for the error's `data` property.
    public var data: ByteBuffer?

    /// Creates an error; `data` must be well-formed JSON.
    public init(_ message: String, data: ByteBuffer? = nil) {
        self.message = message
        self.data = data
    }
}
