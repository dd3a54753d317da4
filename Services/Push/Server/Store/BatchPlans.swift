import Postgres

/// How statements over a batch of rows are planned: anew each time, for as many rows as there are then.
///
/// A plan that is kept would be the one for the tables as they were when it was made; a queue is usually empty. To join a
/// thousand rows with a table of none each with each costs nothing, and with one of a hundred thousand half a second.
enum BatchPlans {
    static let settings = ["plan_cache_mode": "force_custom_plan", "jit": "off"]

    /// For the rest of a transaction.
    static func set(in db: PostgresTransaction) async throws {
        _ = try await db.execute(
            "SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true)"
        )
    }
}
