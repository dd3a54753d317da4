package import Configuration
package import Credentials
package import Foundation
package import HTTPTypes
import Logging
import Postgres
package import ServiceClient
package import ServiceHost
import ServiceLifecycle
package import Wire

/// A service without its HTTP server: its router over the test's own database.
package struct TestService: Sendable {
    package let assembled: AssembledService
    package let database: TestDatabase
    package let tokens: ServiceTokens
    package let transport: InProcessTransport

    /// The applications, several so that tests can check their isolation.
    package static let applications: Set<String> = [RoostApplication.id, "other", "acme"]

    package static let secret = "a service secret for tests alone, long enough"

    /// Starts a service with its background work and a loaded verifier, and stops it when `body` returns.
    ///
    /// Peer services are unreachable unless given. Settings have the names of environment variables. `makeService` creates
    /// the service with other values of constants.
    package static func with<Service: SuiteService, Value: Sendable>(
        _ type: Service.Type,
        settings: [String: String] = [:],
        peers: PeerServices = .none,
        now: @escaping @Sendable () -> Date = { Date() },
        makeService: (ServiceResources, ConfigReader) async throws -> Service = {
            try await Service(resources: $0, configuration: $1)
        },
        _ body: (TestService) async throws -> Value
    ) async throws -> Value {
        try await TestDatabase.with(
            migrations: ServiceHost.migrations(of: type),
            readSettings: type.readSettings
        ) { database in
            try await with(
                type,
                over: database,
                settings: settings,
                peers: peers,
                now: now,
                makeService: makeService,
                body
            )
        }
    }

    /// Starts a service over an existing database; two services over one database are two instances.
    package static func with<Service: SuiteService, Value: Sendable>(
        _ type: Service.Type,
        over database: TestDatabase,
        settings: [String: String] = [:],
        peers: PeerServices = .none,
        now: @escaping @Sendable () -> Date = { Date() },
        makeService: (ServiceResources, ConfigReader) async throws -> Service = {
            try await Service(resources: $0, configuration: $1)
        },
        _ body: (TestService) async throws -> Value
    ) async throws -> Value {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let blobs = NSTemporaryDirectory() + "roost-test-\(UUID().uuidString)"
        // Most tests store no files, so the folder may not exist.
        defer { try? FileManager.default.removeItem(atPath: blobs) }
        let settings = ["BLOBS_PATH": blobs].merging(settings) { $1 }
        let tokens = try ServiceTokens(secret: secret, name: Service.name)
        let assembled = try await ServiceHost.assemble(
            type,
            database: database.pool,
            peers: peers,
            tokens: tokens,
            secrets: [secret],
            configuration: ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: settings)),
            logger: logger,
            applications: applications,
            now: now,
            makeService: makeService
        )
        try await assembled.verifier.load()
        let group = ServiceGroup(
            services: [assembled.verifier] + assembled.background,
            gracefulShutdownSignals: [],
            logger: logger
        )
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let service = TestService(
                assembled: assembled,
                database: database,
                tokens: tokens,
                transport: InProcessTransport(assembled)
            )
            let outcome: Result<Value, any Error>
            do {
                outcome = .success(try await body(service))
            } catch {
                outcome = .failure(error)
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            return try outcome.get()
        }
    }

    /// Sends a client's request, whose `body` is JSON text.
    package func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        token: String? = nil,
        body: String? = nil,
        headers: HTTPFields = [:]
    ) async throws -> TestHTTPResponse {
        var headers = headers
        if let token { headers[.authorization] = "Bearer \(token)" }
        if body != nil, headers[.contentType] == nil { headers[.contentType] = "application/json" }
        let response = try await transport.send(
            ServiceRequest(method: method, path: path, headers: headers, body: body.map { Data($0.utf8) })
        )
        return TestHTTPResponse(response)
    }

    /// Returns a client that calls the service as the peer service `caller`, with a service token.
    package func peerClient(_ caller: String, callee: String) throws -> ServiceClient {
        let tokens = try ServiceTokens(secret: Self.secret, name: caller)
        return ServiceClient(callee: callee, transport: transport, retry: .never) {
            "Bearer \(try tokens.token(for: callee))"
        }
    }
}

package struct TestHTTPResponse: Sendable {
    package let status: Int
    package let headers: HTTPFields
    package let body: Data

    package init(_ response: ServiceResponse) {
        status = response.status
        headers = response.headers
        body = response.body
    }

    package var text: String { String(decoding: body, as: UTF8.self) }

    /// The body as JSON; null when it is not JSON.
    package var json: JSONValue { (try? WireJSON.decoder().decode(JSONValue.self, from: body)) ?? .null }

    package func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        try WireJSON.decoder().decode(type, from: body)
    }

    /// The problem of an error response; nil for other bodies.
    package var problem: Problem? { try? WireJSON.decoder().decode(Problem.self, from: body) }
}

extension JSONValue {
    package subscript(_ name: String) -> JSONValue {
        if case .object(let object) = self { object[name] ?? .null } else { .null }
    }

    package subscript(_ index: Int) -> JSONValue {
        if case .array(let array) = self, array.indices.contains(index) { array[index] } else { .null }
    }

    package var string: String? { if case .string(let value) = self { value } else { nil } }
    package var int: Int? { if case .integer(let value) = self { Int(value) } else { nil } }
    package var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    package var array: [JSONValue] { if case .array(let value) = self { value } else { [] } }
}

extension PeerServices {
    /// Peer services that are all unreachable.
    package static let none = PeerServices { name in
        ServiceClient(callee: name, transport: UnreachableTransport(), retry: .never)
    }

    /// Returns peer services of which only those in `services` are reachable.
    package static func with(_ services: [String: ServiceClient]) -> PeerServices {
        PeerServices { name in
            services[name] ?? ServiceClient(callee: name, transport: UnreachableTransport(), retry: .never)
        }
    }
}

private struct UnreachableTransport: Transport {
    func send(_ request: ServiceRequest) async throws -> ServiceResponse { throw TransportFailure.notSent }
}

/// Responds like auth to the requests of every service (keys, revocations and sessions), and passes others to `other`.
package struct AuthTransport: Transport {
    private let keys: TestKeys
    private let other: @Sendable (ServiceRequest) async throws -> ServiceResponse

    package init(
        _ keys: TestKeys,
        other: @escaping @Sendable (ServiceRequest) async throws -> ServiceResponse = { _ in
            ServiceResponse(status: 404)
        }
    ) {
        self.keys = keys
        self.other = other
    }

    package func send(_ request: ServiceRequest) async throws -> ServiceResponse {
        switch request.path.prefix(while: { $0 != "?" }) {
        case "/.well-known/jwks.json":
            return try respond(try await keys.keyDocument())
        case "/internal/revocations":
            let after = request.path.split(separator: "=").dropFirst().first.flatMap { Int64($0) }
            return try respond(try await keys.revocations(after: after))
        case "/internal/sessions":
            let hashes = request.path.split(separator: "?").last?.split(separator: "&").map { $0.dropFirst(6) } ?? []
            return try respond(KnownSessions(sessions: try await keys.sessions(of: hashes.map(String.init))))
        case "/internal/application-keys":
            let names = request.path.split(separator: "?").last?.split(separator: "&") ?? []
            let requested = names.compactMap { String($0.dropFirst(4)).removingPercentEncoding }
            return try respond(KnownApplicationKeys(keys: try await keys.applicationKeys(requested)))
        default:
            return try await other(request)
        }
    }

    private func respond(_ value: some Encodable) throws -> ServiceResponse {
        ServiceResponse(
            status: 200,
            headers: [.contentType: "application/json"],
            body: try WireJSON.encoder().encode(value)
        )
    }
}
