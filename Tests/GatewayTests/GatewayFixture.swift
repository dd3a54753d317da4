import Credentials
import Logging
import NIOCore
import NIOSSL
import TestSupport
import Testing
import Wire

@testable import GatewayServer

/// A gateway on a port of its own before a scripted service.
struct GatewayFixture: Sendable {
    let port: Int
    let gateway: GatewayService
    let service: ScriptedService
    let keys: TestKeys
    let verifier: CredentialVerifier
    /// A valid token of somebody.
    let token: String

    /// Routes of every kind, so that a test does not depend on what the suite happens to offer.
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

    /// Sends `request` on a connection of its own and reads one answer.
    func perform(_ request: String) async throws -> RawMessage {
        try await connect { connection in
            try await connection.send(request)
            return try #require(try await connection.message(toHead: request.hasPrefix("HEAD ")))
        }
    }

    /// A request with a good credential.
    func get(_ target: String, fields: String = "") async throws -> RawMessage {
        try await perform(signed("GET \(target)", fields: fields))
    }

    func signed(_ line: String, fields: String = "", body: String = "") -> String {
        "\(line) HTTP/1.1\r\nhost: example.org\r\nauthorization: Bearer \(token)\r\n\(fields)\r\n\(body)"
    }

    func connect<Value>(_ body: (RawConnection) async throws -> Value) async throws -> Value {
        try await RawConnection.open(port: port, body)
    }

    /// Connects over TLS, by HTTP/1.1 unless told otherwise.
    func connectTLS<Value>(
        over protocols: [String] = ["http/1.1"],
        upTo version: TLSVersion = .tlsv13,
        _ body: (RawConnection) async throws -> Value
    ) async throws -> Value {
        try await RawConnection.open(port: port, over: protocols, upTo: version, body)
    }

    /// Goes on with other settings, as after SIGHUP: a limit that is to pass is set when what comes before it is done.
    func reconfigure(_ change: (inout GatewayConfiguration) -> Void) async throws {
        var configuration = gateway.state.configuration
        change(&configuration)
        try await gateway.reconfigure(configuration)
    }

    /// What the service saw of the request that `response` echoes.
    func forwarded(_ response: RawMessage) -> RawMessage {
        RawMessage(parsing: response.text)
    }
}

/// As `withGateway`, with the test's certificate.
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
        // Scripts count what they are asked; tests of checks turn them on.
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

/// A gateway before several instances of each service, every one with a script of its own.
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
    /// Sends `count` requests, so many at a time, each over a connection of its own; how often each status was answered.
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
