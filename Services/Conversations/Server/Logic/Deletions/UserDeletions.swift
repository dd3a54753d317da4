import AuthAPI
import ConversationsAPI
import Foundation
import Postgres
import ServiceHost
import Wire

/// What becomes of somebody who was deleted: his devices, his blocks and what he says of himself go at once, then he leaves
/// his conversations, and what he said in them stays without his name.
///
/// It is done behind the event that says so, a little at a time however much it is. Each step may be done twice, so nobody
/// has to be alone with it.
struct UserDeletions: Sendable {
    let database: PostgresPool
    let setAside: SetAside
    let now: @Sendable () -> Date
    var changeNotifier: ChangeNotifier?
    /// Conversations that are looked at in one statement, and messages that are changed in one.
    var batch = 1_000

    /// In the transaction that notes the event.
    func begin(_ deleted: UserDeleted, _ event: Event, in db: PostgresTransaction) async throws {
        try await UserDeletionStore(db: db).insert(deleted.user, at: event.at)
    }

    /// Whether nothing goes by his name any more, and what went with him is removed too.
    func isGone(_ unconfirmedDeletion: UnconfirmedDeletion) async throws -> Bool {
        try await !UserDeletionStore(db: database).hasPending(unconfirmedDeletion.user)
    }

    /// Deletes the conversations of a deleted application as if their creators had done so, then its users, some of them at
    /// each call; true when nothing of the application is left.
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

    /// Until nobody is left whom there is something to be done about.
    ///
    /// A departure that fails delays no other; it is tried again later.
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

    /// Looks for what he has left in conversations that he was in no more.
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
            // Where the conversation itself is gone by now, nobody is in it.
            guard try await HeadStore(db: db).lock(conversation),
                try await members.remove(deletionJob.user.user, from: conversation)
            else { return false }
            // What nobody else is in was his alone.
            if try await UserDeletionStore(db: db).removeIfEmpty(conversation, of: deletionJob.user) { return true }
            if try await ConversationStore(db: db).isDirect(conversation) {
                try await UserDeletionStore(db: db).endDirect(conversation)
            } else {
                try await members.ensureAdmin(in: conversation)
                // The others see that somebody went, and who is not there any more; his name is not said once more.
                try await HeadStore(db: db).append(.left(""), to: conversation)
            }
            return true
        }
        if isGone { changeNotifier?.changed(conversation) }
        try await removeReferences(deletionJob, in: conversation)
        try await UserDeletionStore(db: database).record(left: conversation, deletionJob)
    }

    /// Takes his name off all that is there of him.
    private func removeReferences(_ deletionJob: UserDeletion, in conversation: Conversation.ID) async throws {
        try await database.transaction { db in
            guard try await HeadStore(db: db).lock(conversation) else { return }
            try await UserDeletionStore(db: db).removeReferences(deletionJob.user.user, in: conversation)
        }
        // Messages of a conversation that is gone may be there still. Without the lock, so that nobody who speaks meanwhile waits.
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
