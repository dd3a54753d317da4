public import NIOCore
public import NIOHTTP1

/// What a client said when it asked to be connected to a namespace.
public struct SocketHandshake: Sendable {
    /// The head of the request that opened the connection; nil once it is no longer kept (``HandshakeRetention``).
    public let head: HTTPRequestHead?
    /// Where the connection came from.
    public let remoteAddress: SocketAddress?
    /// The `auth` of the client's options: a JSON object, `{}` if there was none.
    ///
    /// Clients of revision 3 cannot send it; theirs is in the query.
    public let auth: ByteBuffer
    /// The query of the opening request; of a namespace that a client of revision 3 connects to, that of the namespace.
    public let query: SocketQuery
    public let revision: EngineRevision
}

/// The parameters behind the question mark of a URL, percent-decoded.
public struct SocketQuery: Hashable, Sendable {
    private var pairs: [(name: String, value: String)] = []

    /// The first value of a parameter.
    public subscript(_ name: String) -> String? {
        pairs.first { $0.name == name }?.value
    }

    /// - Parameter text: what stands behind the question mark.
    public init(_ text: Substring) {
        // By bytes: splitting characters takes the square of the combining marks in a row.
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

    public static func == (one: SocketQuery, other: SocketQuery) -> Bool {
        one.pairs.elementsEqual(other.pairs, by: ==)
    }

    public func hash(into hasher: inout Hasher) {
        for pair in pairs {
            hasher.combine(pair.name)
            hasher.combine(pair.value)
        }
    }
}

/// Whether a socket is let into a namespace.
public enum ConnectDecision: Sendable {
    case accept
    case refuse(ConnectRefusal)
    /// It is not known yet. The client waits; whatever it sends to the namespace meanwhile is against the protocol.
    case later(@Sendable () async -> ConnectDecision)

    /// Refuses with a text.
    public static func refuse(_ message: String) -> ConnectDecision { .refuse(ConnectRefusal(message)) }
}

/// Why a socket is not let into a namespace, for the client.
public struct ConnectRefusal: Error, Hashable, Sendable {
    public var message: String
    /// A JSON value that the client finds in `data`.
    public var data: ByteBuffer?

    public init(_ message: String, data: ByteBuffer? = nil) {
        self.message = message
        self.data = data
    }
}
