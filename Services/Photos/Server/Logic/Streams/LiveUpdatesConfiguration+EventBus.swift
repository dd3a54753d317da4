import EventBus
import Logging
import Postgres
import ServiceHost

extension LiveUpdatesConfiguration {
    /// Returns the bus of change notifications, under a name that the instances share through the database.
    func bus(over database: PostgresPool, logger: Logger) async throws -> any EventBus {
        let name = try await ChangeStore(db: database).busName()
        guard let natsURL else { return PostgresEventBus(pool: database, name: name, logger: logger) }
        do {
            return try NATSEventBus(url: natsURL, name: name, logger: logger)
        } catch {
            throw SettingError("NATS_URL", "is not the URL of a NATS server: \(error)")
        }
    }
}
