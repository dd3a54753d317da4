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
struct Departures: Sendable {
    let database: PostgresPool
    let setAside: SetAside
    let now: @Sendable () -> Date
    var doorbell: Doorbell?
    /// Conversations that are looked at in one statement, and messages that are changed in one.
    var batch = 1_000

    /// In the transaction that notes the event.
    func begin(_ deleted: UserDeleted, _ event: Event, in db: PostgresTransaction) async throws {
        try await DepartureStore(db: db).insert(deleted.user, at: event.at)
    }

    /// Whether nothing goes by his name any more, and what went with him is removed too.
    func isGone(_ erasure: Erasure) async throws -> Bool {
        try await !DepartureStore(db: database).isThere(erasure.user)
    }

    /// Deletes the conversations of a deleted application as if their creators had done so, then its users, some of them at
    /// each call; true when nothing of the application is left.
    func erase(_ application: String) async throws -> Bool {
        let store = DepartureStore(db: database)
        var found: [Conversation.ID] = []
        for _ in 0..<10 {
            found = try await store.conversations(of: application, limit: 100)
            guard !found.isEmpty else { break }
            for conversation in found { try await remove(conversation, of: application) }
        }
        guard found.isEmpty, try await !store.hasDeletions(of: application) else { return false }
        return try await ApplicationRows(DepartureStore<PostgresPool>.tables, database: database).erase(application)
    }

    private func remove(_ conversation: Conversation.ID, of application: String) async throws {
        let isRemoved = try await database.transaction { db in
            guard try await HeadStore(db: db).lock(conversation) else { return false }
            try await DeletionStore(db: db).begin(conversation, of: application)
            return true
        }
        if isRemoved { doorbell?.changed(conversation) }
    }

    /// Until nobody is left whom there is something to be done about.
    ///
    /// A departure that fails delays no other; it is tried again later.
    func clear() async throws {
        let store = DepartureStore(db: database)
        while let departure = try await store.next(at: now()) {
            try await setAside.each([departure], of: .departure, key: { ["\($0.id)"] }) { departure in
                if departure.conversations.isEmpty {
                    try await search(departure)
                } else {
                    for conversation in departure.conversations { try await leave(conversation, departure) }
                }
            }
        }
    }

    /// Looks for what he has left in conversations that he was in no more.
    private func search(_ departure: Departure) async throws {
        let store = DepartureStore(db: database)
        guard let (found, upTo) = try await store.search(departure, limit: batch) else {
            return try await database.transaction { db in try await DepartureStore(db: db).delete(departure) }
        }
        for conversation in found { try await forget(departure, in: conversation) }
        try await store.note(searchedUpTo: upTo, departure)
    }

    private func leave(_ conversation: Conversation.ID, _ departure: Departure) async throws {
        let isGone = try await database.transaction { db in
            let members = MemberStore(db: db)
            // Where the conversation itself is gone by now, nobody is in it.
            guard try await HeadStore(db: db).lock(conversation),
                try await members.remove(departure.user.user, from: conversation)
            else { return false }
            // What nobody else is in was his alone.
            if try await DepartureStore(db: db).removeIfEmpty(conversation, of: departure.user) { return true }
            if try await ConversationStore(db: db).isDirect(conversation) {
                try await DepartureStore(db: db).endDirect(conversation)
            } else {
                try await members.keepAnAdmin(in: conversation)
                // The others see that somebody went, and who is not there any more; his name is not said once more.
                try await HeadStore(db: db).append(.left(""), to: conversation)
            }
            return true
        }
        if isGone { doorbell?.changed(conversation) }
        try await forget(departure, in: conversation)
        try await DepartureStore(db: database).note(left: conversation, departure)
    }

    /// Takes his name off all that is there of him.
    private func forget(_ departure: Departure, in conversation: Conversation.ID) async throws {
        try await database.transaction { db in
            guard try await HeadStore(db: db).lock(conversation) else { return }
            try await DepartureStore(db: db).forget(departure.user.user, in: conversation)
        }
        // Messages of a conversation that is gone may be there still. Without the lock, so that nobody who speaks meanwhile waits.
        let store = DepartureStore(db: database)
        while try await store.takeName(departure, offMessagesOf: conversation, limit: batch) == batch {}
        var seq: Int64? = 0
        while let behind = seq {
            seq = try await store.takeName(
                departure,
                outOfSystemMessagesOf: conversation,
                behind: behind,
                limit: Int64(batch)
            )
        }
    }
}
