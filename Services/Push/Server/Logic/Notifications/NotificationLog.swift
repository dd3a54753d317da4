import Foundation
import Postgres
import PushAPI
import ServiceHost
import Wire

struct NotificationLog: Sendable {
    let database: PostgresPool
    let cursors: CursorSigner
    let texts: PushTexts

    private static let list = "notifications/log"

    func list(of user: User.ID, limit: Int, cursor: String?) async throws -> Page<NotificationRecord> {
        let last = try cursor.map { try cursors.position($0, of: Self.list, for: user, as: Int64.self) }
        let found = try await LogStore(db: database.reads)
            .page(of: user, before: last, limit: limit + 1, texts: texts)
        let page = Array(found.prefix(limit))
        guard found.count > limit, let last = page.last else { return Page(page) }
        return Page(page, next: try cursors.sign(last.id, of: Self.list, for: user))
    }
}
