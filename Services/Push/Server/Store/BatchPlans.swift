import Postgres

/// How statements over a batch of rows are planned: once, and by an index for each row.
///
/// Left to itself the planner would read a table through while it is small, for a thousand rows of it, and keep that plan
/// while it grows.
enum BatchPlans {
    static let settings = [
        "plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "enable_hashjoin": "off",
        "enable_mergejoin": "off", "jit": "off",
    ]

    /// For the rest of a transaction.
    static func set(in db: PostgresTransaction) async throws {
        _ = try await db.execute(
            """
            SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
                   set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
                   set_config('jit', 'off', true)
            """
        )
    }
}
