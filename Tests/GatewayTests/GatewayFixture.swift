import Credentials
import Logging
import NIOCore
import NIOSSL
import TestSupport
import Testing
import Wire

@testable import GatewayServer

/// A gateway on a port of its own in front of a scripted service.
struct GatewayFixture: Sendable {
    let port: Int
    let gateway: GatewayService
    let service: ScriptedService
    let keys: TestKeys
    let verifier: CredentialVerifier
    /// A valid token of the user Ana.
    let token: String

    /// Routes of every kind, so that tests do not depend on the suite's real routes.
    static let document = """
        openapi: 3.1.0
        security: [{bearer: []}]
        paths:
          /auth/login: {post: {security: []}}
          /auth/me: {get: {}, patch: {}, delete: {}}
          /auth/users: {get: {}}
          /conversations: {get: {}}
          /conversations/create: {post: {}}
          /conversations/{token}: {get: {}, delete: {}}
          /conversations/{token}/meta: {put: {}}
          /conversations/{token}/members/{userId}: {put: {}, delete: {}}
          /conversations/{token}/messages: {get: {}, post: {}}
          /socket.io/: {get: {security: []}, post: {security: [{}, {bearer: []}]}}
          /media/conversations/{key}: {get: {security: []}}
          /photos/home/stream: {get: {responses: {"200": {content: {text/event-stream: {}}}}}}
          /unserved: {get: {security: []}}
        """

    /// Sends `request` on a new connection and reads one response.
    func perform(_ request: String) async throws -> RawMessage {
        try await connect { connection in
            try await connection.send(request)
            return try #require(try await connection.message(toHead: request.hasPrefix("HEAD ")))
        }
    }

    /// Sends a request with a valid credential.
    func get(_ target: String, fields: String = "") async throws -> RawMessage {
        try await perform(signed("GET \(target)", fields: fields))
    }

    func signed(_ line: String, fields: String = "", body: String = "") -> String {
        "\(line) HTTP/1.1\r\nhost: example.org\r\nauthorization: Bearer \(token)\r\n\(fields)\r\n\(body)"
    }

    func connect<Value>(_ body: (RawConnection) async throws -> Value) async throws -> Value {
        try await RawConnection.open(port: port, body)
    }

    /// Connects over TLS, with HTTP/1.1 by default.
    func connectTLS<Value>(
        over protocols: [String] = ["http/1.1"],
        upTo version: TLSVersion = .tlsv13,
        _ body: (RawConnection) async throws -> Value
    ) async throws -> Value {
        try await RawConnection.open(port: port, over: protocols, upTo: version, body)
    }

    /// Applies other settings, as SIGHUP does; for limits that must not apply to what a test does first.
    func reconfigure(_ change: (inout GatewayConfiguration) -> Void) async throws {
        var configuration = gateway.state.configuration
        change(&configuration)
        try await gateway.reconfigure(configuration)
    }

    /// The request as the service received it, from the response that echoes it.
    func forwarded(_ response: RawMessage) -> RawMessage {
        RawMessage(parsing: response.text)
    }
}

/// Like `withGateway`, with the test's certificate.
func withTLSGateway(
    settings change: (inout GatewayConfiguration) throws -> Void = { _ in },
    script: @escaping ScriptedService.Script = ScriptedService.echo,
    test: (GatewayFixture) async throws -> Void
) async throws {
    try await withGateway(
        settings: { configuration in
            configuration.certificates = try ServerCertificate(TestCertificate.a)
            try change(&configuration)
        },
        script: script,
        test: test
    )
}

func withGateway(
    document: String = GatewayFixture.document,
    isLoaded: Bool = true,
    settings change: (inout GatewayConfiguration) throws -> Void = { _ in },
    script: @escaping ScriptedService.Script = ScriptedService.echo,
    test: (GatewayFixture) async throws -> Void
) async throws {
    try await ScriptedService.run(script) { service in
        var configuration = GatewayConfiguration()
        configuration.port = 0
        configuration.eventLoops = 1
        configuration.drainTimeout = .milliseconds(500)
        // Scripts count their requests; tests of health checks turn the checks on.
        configuration.healthInterval = .zero
        configuration.services = try UpstreamService.suite.map { name, prefixes, _ in
            try UpstreamService(name: name, prefixes: prefixes, urls: ["http://127.0.0.1:\(service.port)"])
        }
        try change(&configuration)
        var logger = Logger(label: "gateway")
        logger.logLevel = .critical
        let keys = TestKeys()
        let verifier = CredentialVerifier(source: keys, issuer: TestKeys.issuer, logger: logger)
        if isLoaded { try await verifier.load() }
        let gateway = GatewayService(
            configuration: configuration,
            credentials: verifier,
            document: try OpenAPIDocument(document),
            logger: logger
        )
        try await gateway.start()
        let fixture = GatewayFixture(
            port: try #require(gateway.port),
            gateway: gateway,
            service: service,
            keys: keys,
            verifier: verifier,
            token: try await keys.token(for: User.ID(application: "roost", user: "ana"))
        )
        do {
            try await test(fixture)
        } catch {
            await gateway.stop()
            throw error
        }
        await gateway.stop()
    }
}

/// A gateway in front of several instances of each service, each with its own script.
func withGateway(
    instances scripts: [ScriptedService.Script],
    settings change: (inout GatewayConfiguration) throws -> Void = { _ in },
    test: (GatewayFixture, [ScriptedService]) async throws -> Void
) async throws {
    func add(_ others: ArraySlice<ScriptedService.Script>, to services: [ScriptedService]) async throws {
        guard let script = others.first else {
            try await withGateway(
                settings: { configuration in
                    configuration.services = try UpstreamService.suite.map { name, prefixes, _ in
                        let urls = services.map { "http://127.0.0.1:\($0.port)" }
                        return try UpstreamService(name: name, prefixes: prefixes, urls: urls)
                    }
                    try change(&configuration)
                },
                test: { try await test($0, services) }
            )
            return
        }
        try await ScriptedService.run(script) { try await add(others.dropFirst(), to: services + [$0]) }
    }
    try await add(scripts[...], to: [])
}

extension GatewayFixture {
    /// Sends `count` requests, each over a new connection, and counts the statuses of their responses.
    func load(_ count: Int, concurrency: Int = 8, line: String = "GET /conversations") async throws -> [Int: Int] {
        try await withThrowingTaskGroup(of: [Int].self) { group in
            for worker in 0..<concurrency {
                group.addTask {
                    var statuses: [Int] = []
                    for _ in stride(from: worker, to: count, by: concurrency) {
                        statuses.append(try await perform(signed(line)).status)
                    }
                    return statuses
                }
            }
            return try await group.reduce(into: [:]) { sum, statuses in
                for status in statuses { sum[status, default: 0] += 1 }
            }
        }
    }
}
