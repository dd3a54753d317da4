import EventBus
import Logging
import Postgres
import ServiceHost

extension LiveUpdatesConfiguration {
    /// What the instances ring with, by a name that all who share the database find there.
    func bus(over database: PostgresPool, logger: Logger) async throws -> any EventBus {
        let name = try await ChangeStore(db: database).busName()
        guard let natsURL else { return PostgresEventBus(pool: database, name: name, logger: logger) }
        do {
            return try NATSEventBus(url: natsURL, name: name, logger: logger)
        } catch {
            throw SettingError("NATS_URL", "names no server of NATS: \(error)")
        }
    }
}
