import ConversationsAPI
import Foundation
import HTTPTypes
import Postgres
import ServiceClient
import TestSupport
import Testing
import Wire

@Suite("Data export") struct ExportTests {
    @Test("An export contains the user's own messages and no others, also of former conversations")
    func messages() async throws {
        try await withConversation { fixture in
            try await fixture.bo.send("mine", in: fixture.token)
            try await fixture.ana.send("not to export", in: fixture.token)
            let former = try await fixture.bo.conversations.create(
                ConversationDraft(label: "Former", members: ["ana"])
            )
            try await fixture.bo.send("there too", in: former.token)
            try await fixture.bo.conversations.leave(former.token)
            let foreign = try await fixture.ana.conversations.create(ConversationDraft(label: "Foreign"))
            try await fixture.ana.send("hidden", in: foreign.token)
            try await fixture.bo.conversations.block("eve")
            let auth = try fixture.service.peerClient("auth", callee: "conversations")

            let files = try await ExportedFiles(of: fixture.bo.id, from: auth)

            let (here, there) = ("messages/\(fixture.conversation.id).json", "messages/\(former.id).json")
            #expect(files.names == ["profile.json", "conversations.json", here, there])
            #expect(files.json("profile.json")[0]["blocks"][0]["userId"].string == "eve")
            #expect(files.json("conversations.json").array.map { $0["label"].string } == ["Walks"])
            #expect(files.json(here).array.map { $0["data"].string } == ["mine"])
            #expect(files.json(there).array.map { $0["data"].string } == ["there too"])
            for foreign in ["not to export", "hidden"] { #expect(!files.text.contains(foreign)) }
            // A conversation's token would let its reader join.
            #expect(!files.text.contains(fixture.token))
        }
    }

    @Test("An export contains the files that the user sent")
    func exportedFiles() async throws {
        try await withFiles { fixture async throws in
            let headers: HTTPFields = [.contentDisposition: #"attachment; filename="On the beach.jpg""#]
            let sent = try await fixture.bo.upload(Sample.jpeg, as: "image/jpeg", to: fixture.path, headers: headers)
            _ = try await fixture.ana.upload(Sample.jpeg, as: "image/jpeg", to: fixture.path)
            let seq = try #require(sent.json["seq"].int)
            let auth = try fixture.fixture.service.peerClient("auth", callee: "conversations")

            let files = try await ExportedFiles(of: fixture.bo.id, from: auth)

            let id = fixture.fixture.conversation.id
            #expect(files.packed == ["files/\(id)-\(seq)"])
            #expect(files.contents["files/\(id)-\(seq)"] == Data(Sample.jpeg))
            let message = files.json("messages/\(id).json")[0]
            #expect(message["data"].string == "files/\(id)-\(seq)")
            #expect(message["name"].string == "On the beach.jpg")
        }
    }

    @Test("A long history is exported completely and in order")
    func longHistory() async throws {
        try await withConversation { fixture in
            try await fixture.service.database.pool.run(
                """
                INSERT INTO messages (
                    conversation_id, seq, change, user_seq, sender_id, data, mime, encoding, created_at
                )
                SELECT \(fixture.conversation.id.rawValue), number, number, number,
                    CASE WHEN number % 2 = 0 THEN 'bo' ELSE 'ana' END, 'word ' || number, 'text/plain', 'utf8', now()
                FROM generate_series(1001, 3600) AS numbers (number)
                """
            )
            let auth = try fixture.service.peerClient("auth", callee: "conversations")
            let files = try await ExportedFiles(of: fixture.bo.id, from: auth)
            let said = files.json("messages/\(fixture.conversation.id).json").array.compactMap { $0["seq"].int }
            #expect(said == Array(stride(from: 1_002, through: 3_600, by: 2)))
        }
    }

    @Test("An export of an unknown user is empty")
    func unknownUser() async throws {
        try await withConversation { fixture in
            let auth = try fixture.service.peerClient("auth", callee: "conversations")
            let files = try await ExportedFiles(of: User.ID(application: "other", user: "nobody"), from: auth)
            #expect(files.names == ["profile.json", "conversations.json"])
            #expect(files.names.allSatisfy { files.json($0) == .array([]) })
        }
    }
}
