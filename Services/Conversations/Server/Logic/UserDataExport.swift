import Blobs
import ConversationsAPI
import Postgres
import ServiceHost
import Wire

/// The export of a user's data: memberships, sent messages and sent files.
///
/// The messages of other users are not part of it.
struct UserDataExport: Sendable {
    let database: PostgresPool
    let blobs: any BlobStore

    func write(_ user: User.ID, to export: inout ExportWriter) async throws {
        let store = ExportStore(db: database)
        try await export.json("profile.json", try await store.profile(of: user))
        try await export.list("conversations.json") { try await store.conversations(of: user, after: $0) }
        // Includes conversations that the user has left, because the user's messages are still there.
        var last = Conversation.ID(0)
        while let (found, upTo) = try await store.conversationsWithMessages(by: user, after: last) {
            for conversation in found {
                try await export.list("messages/\(conversation).json") {
                    try await store.messages(by: user, in: conversation, after: $0)
                }
                try await writeFiles(of: user, in: conversation, to: &export)
            }
            last = upTo
        }
    }

    private func writeFiles(
        of user: User.ID,
        in conversation: Conversation.ID,
        to export: inout ExportWriter
    ) async throws {
        var last: Int64 = 0
        while true {
            let files = try await ExportStore(db: database).files(by: user, in: conversation, after: last)
            guard let end = files.last?.seq else { return }
            for (seq, file) in files {
                try await export.file("files/\(conversation)-\(seq)", file.key, in: blobs)
            }
            last = end
        }
    }
}
