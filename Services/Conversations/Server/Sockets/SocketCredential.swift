import ConversationsAPI
import Credentials
import HTTPTypes
import NIOCore
import NIOHTTP1
import SocketIO
import Wire

/// What somebody signs in with as he connects: a credential, and what he knows already.
struct SocketCredential: Sendable {
    let token: String
    /// The newest change that the client knows, by conversation; nil where the client does not say what it knows.
    var last: [Conversation.ID: Int64]?
}

extension SocketCredential {
    /// From the connect payload, or else from the header fields; nil where there is none, and `authenticate` is to follow.
    ///
    /// - Throws: `invalid` for a payload that says something else, `forbidden` for fields that do.
    init?(_ handshake: SocketHandshake) throws {
        let payload = try SocketCall.decode(ConnectPayload.self, from: handshake.auth, limits: .handshake)
        if let token = payload.token {
            self.token = token
            last = try payload.knownChanges()
            return
        }
        guard let head = handshake.head else { return nil }
        var fields = HTTPFields()
        for name in [HTTPField.Name.authorization, .diuitSession] {
            for value in head.headers[name.canonicalName] { fields.append(HTTPField(name: name, value: value)) }
        }
        switch try Credential(fields) {
        case .bearer(let token), .session(let token): self.token = token
        case nil: return nil
        }
    }
}

/// `{token, last: {chatId: change}}`, the `auth` of a client's options.
private struct ConnectPayload: Decodable {
    let token: String?
    let last: [String: Int64]?

    func knownChanges() throws -> [Conversation.ID: Int64]? { try last.map(SocketCredential.knownChanges) }
}

extension SocketCredential {
    /// What a client knows, from the `last` that it sent.
    ///
    /// - Throws: `invalid` for a key that is no chat's id, or a value that is no change.
    fileprivate static func knownChanges(_ last: [String: Int64]) throws -> [Conversation.ID: Int64] {
        var knownChanges: [Conversation.ID: Int64] = [:]
        for (chat, change) in last {
            guard let id = Int64(chat), HistoryQuery.counters.contains(id), HistoryQuery.counters.contains(change)
            else {
                throw APIError.invalid("last", "\"last\" must have the change that is known of each chat, by its id")
            }
            knownChanges[Conversation.ID(id)] = change
        }
        return knownChanges
    }
}

extension JSONLimits {
    /// The handshake is decoded on the event loop: as many conversations as 64 kB can name, in an object in an object.
    static let handshake = JSONLimits(bytes: 65_536, values: 10_000, depth: 4)
}

/// The payload of `authenticate`.
struct Authentication: Decodable, Sendable {
    let authToken: String
    private let last: [String: Int64]?

    func credential() throws -> SocketCredential {
        SocketCredential(token: authToken, last: try last.map(SocketCredential.knownChanges))
    }
}
