import Postgres

/// The planner settings of statements over batches: a new plan for each execution.
///
/// A cached plan fits the table sizes at planning time, when the queue is usually empty. A nested loop over 1,000 rows
/// and an empty table is free; over 100,000 rows it takes 0.5 s.
enum BatchPlans {
    static let settings = ["plan_cache_mode": "force_custom_plan", "jit": "off"]

    static func set(in db: PostgresTransaction) async throws {
        _ = try await db.execute(
            "SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true)"
        )
    }
}
