import ConversationsAPI
import Credentials
import HTTPTypes
import NIOCore
import NIOHTTP1
import SocketIO
import Wire

/// A client's credential, with the changes that the client already has.
struct SocketCredential: Sendable {
    let token: String
    /// The newest change that the client has, by conversation; nil when the client does not state it.
    var last: [Conversation.ID: Int64]?
}

extension SocketCredential {
    /// Reads the connect payload, or else the header fields; nil without a credential, when `authenticate` must follow.
    ///
    /// - Throws: `invalid` for a malformed payload, `forbidden` for malformed header fields.
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

/// The connect payload `{token, last: {chatId: change}}`, which is the `auth` of a client's options.
private struct ConnectPayload: Decodable {
    let token: String?
    let last: [String: Int64]?

    func knownChanges() throws -> [Conversation.ID: Int64]? { try last.map(SocketCredential.knownChanges) }
}

extension SocketCredential {
    /// Parses the `last` that a client sent.
    ///
    /// - Throws: `invalid` for a key that is not a chat's id, or for a value that is not a change number.
    fileprivate static func knownChanges(_ last: [String: Int64]) throws -> [Conversation.ID: Int64] {
        var knownChanges: [Conversation.ID: Int64] = [:]
        for (chat, change) in last {
            guard let id = Int64(chat), HistoryQuery.counters.contains(id), HistoryQuery.counters.contains(change)
            else {
                throw APIError.invalid("last", "\"last\" must map the ids of chats to change numbers")
            }
            knownChanges[Conversation.ID(id)] = change
        }
        return knownChanges
    }
}

extension JSONLimits {
    /// The limits of the handshake, which is decoded on the event loop: as many conversations as 64 kB can name.
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
