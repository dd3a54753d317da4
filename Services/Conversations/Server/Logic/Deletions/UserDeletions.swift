import AuthAPI
import ConversationsAPI
import Foundation
import Postgres
import ServiceHost
import Wire

/// The deletion of a user's data.
///
/// Devices, blocks and profile data are deleted at once. Then the user leaves all conversations, and the messages stay
/// without the user's name.
///
/// The work follows the deletion event in batches. Each step may run twice, so instances need no mutual exclusion.
struct UserDeletions: Sendable {
    let database: PostgresPool
    let setAside: SetAside
    let now: @Sendable () -> Date
    var changeNotifier: ChangeNotifier?
    /// The number of conversations that one statement reads, and of messages that one statement changes.
    var batch = 1_000

    /// Records the deletion in the transaction that records the event.
    func begin(_ deleted: UserDeleted, _ event: Event, in db: PostgresTransaction) async throws {
        try await UserDeletionStore(db: db).insert(deleted.user, at: event.at)
    }

    /// Whether no data refers to the user any longer, and the data that only the user owned is removed too.
    func isGone(_ unconfirmedDeletion: UnconfirmedDeletion) async throws -> Bool {
        try await !UserDeletionStore(db: database).hasPending(unconfirmedDeletion.user)
    }

    /// Deletes the conversations of a deleted application as if their creators had done so, then its users.
    ///
    /// Each call deletes some of them; returns true when nothing of the application is left.
    func erase(_ application: String) async throws -> Bool {
        let store = UserDeletionStore(db: database)
        var found: [Conversation.ID] = []
        for _ in 0..<10 {
            found = try await store.conversations(of: application, limit: 100)
            guard !found.isEmpty else { break }
            for conversation in found { try await remove(conversation, of: application) }
        }
        guard found.isEmpty, try await !store.hasDeletions(of: application) else { return false }
        return try await ApplicationRowDeletion(UserDeletionStore<PostgresPool>.tables, database: database).erase(
            application
        )
    }

    private func remove(_ conversation: Conversation.ID, of application: String) async throws {
        let isRemoved = try await database.transaction { db in
            guard try await HeadStore(db: db).lock(conversation) else { return false }
            try await ConversationDeletionStore(db: db).begin(conversation, of: application)
            return true
        }
        if isRemoved { changeNotifier?.changed(conversation) }
    }

    /// Processes deletions until none is pending.
    ///
    /// A deletion that fails does not delay the others; it is retried later.
    func processPending() async throws {
        let store = UserDeletionStore(db: database)
        while let deletionJob = try await store.next(at: now()) {
            try await setAside.each([deletionJob], of: .deletionJob, key: { ["\($0.id)"] }) { deletionJob in
                if deletionJob.conversations.isEmpty {
                    try await search(deletionJob)
                } else {
                    for conversation in deletionJob.conversations { try await leave(conversation, deletionJob) }
                }
            }
        }
    }

    /// Searches for references to the user in conversations that the user had already left.
    private func search(_ deletionJob: UserDeletion) async throws {
        let store = UserDeletionStore(db: database)
        guard let (found, upTo) = try await store.search(deletionJob, limit: batch) else {
            return try await database.transaction { db in try await UserDeletionStore(db: db).delete(deletionJob) }
        }
        for conversation in found { try await removeReferences(deletionJob, in: conversation) }
        try await store.record(searchedUpTo: upTo, deletionJob)
    }

    private func leave(_ conversation: Conversation.ID, _ deletionJob: UserDeletion) async throws {
        let isGone = try await database.transaction { db in
            let members = MemberStore(db: db)
            // A conversation that was deleted meanwhile has no members.
            guard try await HeadStore(db: db).lock(conversation),
                try await members.remove(deletionJob.user.user, from: conversation)
            else { return false }
            // A conversation without other members was this user's alone.
            if try await UserDeletionStore(db: db).removeIfEmpty(conversation, of: deletionJob.user) { return true }
            if try await ConversationStore(db: db).isDirect(conversation) {
                try await UserDeletionStore(db: db).endDirect(conversation)
            } else {
                try await members.ensureAdmin(in: conversation)
                // The other members see that a member left, and who is missing; the message does not repeat the name.
                try await HeadStore(db: db).append(.left(""), to: conversation)
            }
            return true
        }
        if isGone { changeNotifier?.changed(conversation) }
        try await removeReferences(deletionJob, in: conversation)
        try await UserDeletionStore(db: database).record(left: conversation, deletionJob)
    }

    /// Removes the user's name from all data of the conversation.
    private func removeReferences(_ deletionJob: UserDeletion, in conversation: Conversation.ID) async throws {
        try await database.transaction { db in
            guard try await HeadStore(db: db).lock(conversation) else { return }
            try await UserDeletionStore(db: db).removeReferences(deletionJob.user.user, in: conversation)
        }
        // Messages of a deleted conversation may still exist. The changes are made without the lock, so that senders do
        // not wait.
        let store = UserDeletionStore(db: database)
        while try await store.anonymize(deletionJob, messagesOf: conversation, limit: batch) == batch {}
        var seq: Int64? = 0
        while let after = seq {
            seq = try await store.anonymize(
                deletionJob,
                systemMessagesOf: conversation,
                after: after,
                limit: Int64(batch)
            )
        }
    }
}
