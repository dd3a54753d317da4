import AsyncHTTPClient
import ChildProcesses
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import SandboxServer
import Synchronization
import Testing
import Wire

/// A sandbox of the test's own, with an HTTP client.
struct SandboxFixture: Sendable {
    let sandbox: Sandbox
    let clock: TestClock
    /// The credentials of the account `roost`.
    let credentials: SandboxCredentials
    let http: HTTPClient

    /// The keys, which are made once for all tests.
    fileprivate static let keys = Swift.Result { try SandboxKeys() }

    /// A device token.
    static let device = String(repeating: "ab", count: 32)
    static let alert = #"{"aps":{"alert":{"title":"Live","body":"Ana plays"}}}"#

    /// Sends a request and reads the whole response.
    func send(
        _ method: HTTPMethod = .GET,
        _ url: String,
        headers: HTTPHeaders = [:],
        body: Data = Data(),
        within limit: TimeAmount = .seconds(20)
    ) async throws -> SandboxResponse {
        var request = HTTPClientRequest(url: url)
        request.method = method
        request.headers = headers
        request.body = .bytes(body)
        let response = try await http.execute(request, timeout: limit)
        let bytes = try await response.body.collect(upTo: 10 << 20)
        return SandboxResponse(
            status: Int(response.status.code),
            headers: response.headers,
            body: Data(bytes.readableBytesView)
        )
    }

    /// Sends JSON to a control route of the sandbox.
    func control(_ path: String, _ json: String, _ method: HTTPMethod = .POST) async throws -> SandboxResponse {
        try await send(method, sandbox.url + path, headers: ["content-type": "application/json"], body: Data(json.utf8))
    }

    /// Runs `body` with another client, which has its own connections.
    func withAnotherClient<Result>(_ body: (SandboxFixture) async throws -> Result) async throws -> Result {
        let client = try Self.client(trusting: sandbox.authorityPEM)
        let other = SandboxFixture(sandbox: sandbox, clock: clock, credentials: credentials, http: client)
        do {
            let result = try await body(other)
            try await client.shutdown()
            return result
        } catch {
            try await client.shutdown()
            throw error
        }
    }

    fileprivate static func client(trusting pem: String) throws -> HTTPClient {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)))
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: .init(tlsConfiguration: tls))
    }
}

/// Runs a sandbox during a test.
func withSandbox(
    _ change: (inout SandboxConfiguration) -> Void = { _ in },
    test: (SandboxFixture) async throws -> Void
) async throws {
    let clock = TestClock()
    var configuration = SandboxConfiguration()
    configuration.now = { clock.now }
    configuration.threads = 1
    configuration.keys = try SandboxFixture.keys.get()
    change(&configuration)
    try await Sandbox.run(configuration) { sandbox in
        let client = try SandboxFixture.client(trusting: sandbox.authorityPEM)
        do {
            try await test(
                SandboxFixture(sandbox: sandbox, clock: clock, credentials: try sandbox.credentials(), http: client)
            )
            try await client.shutdown()
        } catch {
            try await client.shutdown()
            throw error
        }
    }
}

struct SandboxResponse {
    let status: Int
    let headers: HTTPHeaders
    let body: Data

    var text: String { String(decoding: body, as: UTF8.self) }

    func json() throws -> JSONValue { try WireJSON.decoder().decode(JSONValue.self, from: body) }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try WireJSON.decoder().decode(type, from: body)
    }
}

/// A clock that only the test advances.
final class TestClock: Sendable {
    private let time = Mutex(Date())
    private let tokens = Mutex<[Int: String]>([:])

    var now: Date { time.withLock { $0 } }
    var seconds: Int { Int(now.timeIntervalSince1970) }

    /// Returns the provider token of the current second, which is signed once.
    func token(_ credentials: SandboxCredentials) throws -> String {
        let second = seconds
        return try tokens.withLock { tokens in
            if let token = tokens[second] { return token }
            let token = try Tokens.apple(credentials, issuedAt: second)
            tokens[second] = token
            return token
        }
    }

    func advance(minutes: Double) {
        time.withLock { $0 += minutes * 60 }
    }
}

extension JSONValue {
    subscript(name: String) -> JSONValue? {
        guard case .object(let fields) = self else { return nil }
        return fields[name]
    }

    subscript(index: Int) -> JSONValue? {
        guard case .array(let values) = self, values.indices.contains(index) else { return nil }
        return values[index]
    }

    var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    var whole: Int64? {
        guard case .integer(let whole) = self else { return nil }
        return whole
    }
}

/// Programs that tests run.
enum Program {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    /// Runs a program, which may be found on `PATH`, and returns its status and output.
    static func run(
        _ program: String,
        _ arguments: [String],
        within limit: Duration = .seconds(60)
    ) async throws -> (status: ChildProcesses.ExitStatus, output: String) {
        let environment = ProcessInfo.processInfo.environment
        var command = ProcessCommand("/usr/bin/env", [program] + arguments, environment: environment)
        command.workingDirectory = root
        return try await command.run(within: limit)
    }
}

/// Runs `body` with a temporary folder.
func withFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    let folder = "\(NSTemporaryDirectory())/sandbox-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer {
        // Silence: the folder is temporary.
        try? FileManager.default.removeItem(atPath: folder)
    }
    return try await body(folder)
}
