import ConversationsAPI
import Foundation
import Logging
import NIOCore
import Postgres
import ServiceHost
import Wire

/// The event `chats/joined` for each user who becomes a member; nil when the chat cannot be read.
typealias Announcements = [User.ID: DeliveryEvent?]

/// The encoder of the event `chats/joined`: a chat as a new member sees it, like the response to `chats/detail`.
struct ChatAnnouncer: Sendable {
    /// The maximum number of chats or members that are read at once.
    private static let batch = 25

    private struct Key: Hashable {
        let conversation: Conversation.ID
        let user: User.ID
    }

    let database: PostgresPool
    let links: FileLinks
    /// Nil for events without profiles.
    let profiles: MemberProfiles?
    let logger: Logger

    /// Returns events for new members of one conversation, of one application; other users are left out.
    func announcements(to users: [User.ID], in conversation: Conversation.ID) async throws -> Announcements {
        let keys = Set(users).map { Key(conversation: conversation, user: $0) }
        return Dictionary(try await events(keys).map { ($0.user, $1) }) { first, _ in first }
    }

    /// Returns events for one user, by conversation; other users' conversations are left out.
    func announcements(
        to user: User.ID,
        in conversations: [Conversation.ID]
    ) async throws -> [Conversation.ID: DeliveryEvent?] {
        let keys = conversations.map { Key(conversation: $0, user: user) }
        return Dictionary(try await events(keys).map { ($0.conversation, $1) }) { first, _ in first }
    }

    private func events(_ keys: [Key]) async throws -> [(Key, DeliveryEvent?)] {
        var found: [(Key, DeliveryEvent?)] = []
        for start in stride(from: 0, to: keys.count, by: Self.batch) {
            let part = Array(keys[start..<min(start + Self.batch, keys.count)])
            do {
                found += try await read(part)
            } catch {
                // A row that cannot be read must not keep a user out of the conversation.
                guard FailedRow([], error) != nil else { throw error }
                guard part.count == 1 else {
                    for key in part { found += try await events([key]) }
                    continue
                }
                logger.error("cannot read chat of new member", metadata: ["error": "\(error)"])
                found.append((part[0], nil))
            }
        }
        return found
    }

    private func read(_ keys: [Key]) async throws -> [(Key, DeliveryEvent?)] {
        guard let application = keys.first?.user.application else { return [] }
        let views = try await ConversationStore(db: database.reads)
            .views(keys.map { (conversation: $0.conversation, user: $0.user.user) }, of: application)
        let seen = try await PresenceStore(db: database.reads)
            .presences(seen: keys.map { (conversation: $0.conversation, viewer: $0.user.user) }, of: application)
        var presences: [Key: [Presence]] = [:]
        for (conversation, viewer, presence) in seen {
            let viewer = User.ID(application: application, user: viewer)
            presences[Key(conversation: conversation, user: viewer), default: []].append(presence)
        }
        let conversations = views.map { links.signed($0.conversation) }
        // Delivery does not wait for auth; the responses to requests fetch missing names.
        let shown = await profiles?.adding(to: conversations, of: application, callsAuth: false) ?? conversations
        return try zip(views, shown).map { view, conversation in
            let key = Key(conversation: conversation.id, user: User.ID(application: application, user: view.user))
            let json = try WireJSON.encoder().encode(ChatDetail(conversation, presences[key] ?? []))
            return (key, DeliveryEvent(name: .joined, json: ByteBuffer(bytes: json)))
        }
    }
}
