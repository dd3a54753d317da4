import Foundation
import NIOCore
import Postgres
import ServiceHost
import Wire

/// The export of a user's data in the social service.
struct UserDataExport: Sendable {
    let database: PostgresPool

    func write(_ user: User.ID, to export: inout ExportWriter) async throws {
        let store = ExportStore(db: database)
        try await export.json("networks.json", try await store.accounts(of: user))
        try await export.json("posts.json", try await store.posts(of: user))
        try await export.list("changes.json") { try await store.changes(of: user, after: $0) }
        for file in try await store.files(of: user) {
            // The post was published or cancelled in the meantime, which deletes its files.
            guard let bytes = try await store.bytes(of: file) else { continue }
            let name = "files/\(file.post.uuidString.lowercased())-\(file.element)"
            try await export.file(name) { try await $0(ByteBuffer(bytes: bytes)) }
        }
    }
}
