import EventBus
import Logging
import Postgres
import ServiceHost

extension ConversationsConfiguration {
    /// Returns the bus between instances, whose name all instances read from their common database.
    func bus(over database: PostgresPool, logger: Logger) async throws -> any EventBus {
        let name = try await BusStore(db: database).name()
        guard let natsURL else { return PostgresEventBus(pool: database, name: name, logger: logger) }
        do {
            return try NATSEventBus(url: natsURL, name: name, logger: logger)
        } catch {
            throw SettingError("NATS_URL", "must be the URL of a NATS server: \(error)")
        }
    }
}
