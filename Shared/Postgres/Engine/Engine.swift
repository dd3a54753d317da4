import Logging

final class Engine: @unchecked Sendable {
    enum Route { case reads, single, session(Session) }
    let configuration: PostgresConfiguration
    init(configuration: PostgresConfiguration, logger: Logger) { self.configuration = configuration }
    func start() {}
    func stop() {}
    func shutdown() async {}
    func run(_ segment: Segment, on route: Route) async throws -> [PostgresResult] {
        throw PostgresError(.shuttingDown, "the pool is shut down")
    }
    func commit(_ session: Session) async throws {}
    func rollback(_ session: Session) async {}
    func open(_ session: Session) {}
    func close(_ session: Session) {}
    func listen(_ channels: [String]) -> AsyncStream<PostgresListener.Event> { AsyncStream { $0.finish() } }
}
