import Blobs
import ConversationsAPI
import Postgres
import ServiceHost
import Wire

/// What conversations keeps of somebody, as the files of his export: where he is, what he said, and the files he sent.
///
/// What others said is theirs.
struct UserDataExport: Sendable {
    let database: PostgresPool
    let blobs: any BlobStore

    func write(_ user: User.ID, to export: inout ExportWriter) async throws {
        let store = ExportStore(db: database)
        try await export.json("profile.json", try await store.profile(of: user))
        try await export.list("conversations.json") { try await store.conversations(of: user, after: $0) }
        // Also those that he has left: what he said there is there still.
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
