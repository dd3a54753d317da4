import Postgres
import ServiceHost
import Wire

struct UserDataExport: Sendable {
    let database: PostgresPool

    func write(_ user: User.ID, to export: inout ExportWriter) async throws {
        let store = ExportStore(db: database)
        try await export.json("devices.json", try await store.devices(of: user))
        try await export.json("settings.json", try await store.settings(of: user))
        try await export.json("subscriptions.json", try await store.subscriptions(of: user))
        try await export.json("topics.json", try await store.topics(of: user))
        try await export.list("log.json") { try await store.log(of: user, after: $0) }
    }
}
