import Postgres

/// The table `bus`: the name that the instances of this database share.
struct BusStore<Executor: PostgresExecutor> {
    let db: Executor

    func name() async throws -> String {
        try await db.one("SELECT name FROM bus", as: { try $0.string("name") })
    }
}
