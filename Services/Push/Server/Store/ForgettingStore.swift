import Postgres
import Wire

/// All that is kept of somebody's notifications.
struct ForgettingStore<Executor: PostgresExecutor> {
    let db: Executor

    func forget(_ user: User.ID) async throws {
        for table in ["queue", "held", "log", "cooldowns", "failures"] {
            try await db.run(
                """
                DELETE FROM \(identifier: table)
                WHERE application_id = \(user.application) AND user_id = \(user.user)
                """
            )
        }
    }
}
