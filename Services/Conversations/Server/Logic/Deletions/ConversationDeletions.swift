import ConversationsAPI
import Foundation
import Postgres
import PushAPI
import ServiceHost
import Wire

/// The removal of deleted conversations' data, in batches.
struct ConversationDeletions: Sendable {
    let setAside: SetAside
    let now: @Sendable () -> Date
    var batch = 5_000

    /// Removes data until only conversations that other instances are removing are left.
    ///
    /// A conversation that cannot be removed does not delay the others.
    func processPending() async throws {
        try await setAside.drain(
            .conversationDeletion,
            key: { ["\($0.rawValue)"] },
            next: { try await ConversationDeletionStore(db: $0).next(at: now()) }
        ) { conversation, db in
            let store = ConversationDeletionStore(db: db)
            if try await !store.removeSome(of: conversation, limit: batch) { try await store.delete(conversation) }
        }
    }
}

extension Conversations {
    /// Deletes the conversation of a creator; from then on no user can see it.
    func delete(_ token: ConversationToken, by user: User.ID) async throws -> Removal {
        let removal = try await database.transaction { db in
            let membership = try await membership(token, of: user, on: db)
            guard membership.isAdmin != nil else { throw Self.notFound }
            guard membership.creator == user.user else {
                throw APIError(.forbidden, "creator_required", "only the creator can delete a conversation")
            }
            try await ConversationDeletionStore(db: db).begin(token.id, of: user.application)
            let recalled = NotificationRecalled(
                applicationId: user.application,
                notificationId: "message:\(token.id)",
                isDeleted: true
            )
            try await events.write(recalled, in: db)
            return Removal()
        }
        changeNotifier?.changed(token.id)
        return removal
    }
}
