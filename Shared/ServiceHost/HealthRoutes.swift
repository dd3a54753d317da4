import Credentials
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Postgres
import Wire

/// The routes for operators and load balancers, which every service has.
struct HealthRoutes {
    /// The paths that monitoring requests periodically.
    static let paths: Set<String> = ["/health", "/ready", "/metrics"]

    /// Returns the log level of a response: successful health checks and internal requests are logged at debug level
    /// only.
    static func level(of route: String, status: Int) -> Logger.Level {
        let isRoutine = paths.contains(route) || route.hasPrefix("/internal/")
        return isRoutine && status < 400 ? .debug : .info
    }

    let database: PostgresPool
    let verifier: CredentialVerifier
    let metrics: PrometheusRegistry?
    let drain: Drain
    var history = ProcessHistory()

    private struct Health: Encodable {
        var status = "up"
    }

    func add(to router: Router<SuiteContext>) {
        router.get("health") { [history] _, _ in try Self.json(Health(), history) }
        router.get("ready", use: ready)
        if let metrics {
            router.get("metrics") { _, _ in
                Response(
                    status: .ok,
                    headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
                    body: ResponseBody(byteBuffer: ByteBuffer(string: metrics.text()))
                )
            }
        }
    }

    private func ready(request: Request, context: SuiteContext) async throws -> Response {
        guard !drain.isDraining else { throw APIError.unavailable("the service, which is shutting down,") }
        try await database.ping()
        guard verifier.isLoaded else { throw APIError.unavailable("auth") }
        return try Self.json(Health(status: "ready"), history)
    }

    private static func json(_ health: Health, _ history: ProcessHistory) throws -> Response {
        var response = try Response.json(health)
        for (name, value) in history.fields { response.headers[name] = value }
        return response
    }
}
