import AuthAPI
import ChildProcesses
import ConversationsAPI
import Foundation
import Glibc
import PushAPI
import ServiceClient
import Synchronization
import Testing

/// The real executables: `roost up` with a private PostgreSQL, in the test's own folder and on its own ports.
final class RunningSuite: Sendable {
    let directory: String
    let environment: [String: String]
    let gatewayPort: Int
    let authPort: Int
    let conversationsPort: Int
    let photosPort: Int
    let pushPort: Int
    let socialPort: Int
    let managementPort: Int
    private let options: [String]
    private let console = Mutex("")
    private let running = Mutex<ChildProcess?>(nil)

    /// The folder of the executables, which is that of the tests.
    static let binaries: String = {
        // Silence: without /proc no test runs.
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return ProcessInfo.processInfo.environment["ROOST_BINARIES"]
            ?? URL(filePath: own).deletingLastPathComponent().path(percentEncoded: false)
    }()

    private init(settings: [String: String], options: [String]) throws {
        self.options = options
        directory = "\(NSTemporaryDirectory())/roost-suite-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let ports = try LoopbackPort.free(7).map(\.number)
        (gatewayPort, authPort, conversationsPort, managementPort) = (ports[0], ports[1], ports[2], ports[3])
        (pushPort, photosPort, socialPort) = (ports[4], ports[5], ports[6])
        var environment = ProcessInfo.processInfo.environment
        for key in ["DATABASE_URL", "TEST_DATABASE_URL", "PUBLIC_URL"] {
            environment[key] = nil
        }
        environment["PORT"] = "\(gatewayPort)"
        environment["AUTH_URL"] = "http://127.0.0.1:\(authPort)"
        environment["CONVERSATIONS_URL"] = "http://127.0.0.1:\(conversationsPort)"
        environment["PHOTOS_URL"] = "http://127.0.0.1:\(photosPort)"
        environment["PUSH_URL"] = "http://127.0.0.1:\(pushPort)"
        environment["SOCIAL_URL"] = "http://127.0.0.1:\(socialPort)"
        environment["MANAGEMENT_PORT"] = "\(managementPort)"
        // A test that needs the sandbox sets its ports.
        environment["SANDBOX"] = "0"
        environment["LOG_LEVEL"] = "warning"
        self.environment = environment.merging(settings) { $1 }
    }

    /// Runs a test with a suite that is ready, and leaves no process and no file behind.
    static func with(
        settings: [String: String] = [:],
        options: [String] = [],
        isStarted: Bool = true,
        _ body: (RunningSuite) async throws -> Void
    ) async throws {
        let suite = try RunningSuite(settings: settings, options: options)
        do {
            if isStarted {
                try await suite.start()
            }
            try await body(suite)
        } catch {
            print(suite.output)
            await suite.discard()
            throw error
        }
        await suite.discard()
    }

    /// Starts `roost up` and waits until Roost is ready.
    func start(within limit: Duration = .seconds(120)) async throws {
        try await launch()
        let line = "Roost is ready at http://127.0.0.1:\(gatewayPort)\n"
        try await eventually(within: limit, "ready") { output.contains(line) || supervisor == nil }
        guard output.contains(line) else {
            throw SuiteError("roost up ended:\n\(output)")
        }
    }

    /// Starts `roost up` and does not wait.
    func launch() async throws {
        console.withLock { $0 = "" }
        var command = roost("up")
        command.arguments += options
        command = command.privileged(signalOnParentDeath: "TERM")
        command.output = .chunks { chunk in
            self.console.withLock { $0 += String(decoding: chunk, as: UTF8.self) }
        }
        let child = try await ChildProcess.start(command)
        running.withLock { $0 = child }
    }

    /// The output of `roost up` since its start.
    var output: String { console.withLock { $0 } }

    /// The process of `roost up` while it runs.
    var supervisor: ChildProcess? { running.withLock { $0?.status == nil ? $0 : nil } }

    /// A command of `roost` for this suite.
    func roost(_ arguments: String...) -> ProcessCommand {
        ProcessCommand("\(Self.binaries)roost", arguments + ["--directory", directory], environment: environment)
    }

    /// The processes that `roost up` runs by default.
    static let programs = ["auth", "conversations", "photos", "push", "social", "gateway", "postgresql"]

    /// Returns the process that `roost up` has recorded under a name of `programs`.
    func process(_ name: String) throws -> ProcessIdentity {
        struct Note: Decodable {
            let name: String
            let process: ProcessIdentity
        }
        let data = try Data(contentsOf: URL(filePath: "\(directory)/.roost/processes.json"))
        guard let note = try JSONDecoder().decode([Note].self, from: data).first(where: { $0.name == name }) else {
            throw SuiteError("no process \(name) is recorded")
        }
        return note.process
    }

    /// Returns the processes of the suite that run.
    func processes() -> [ProcessIdentity] {
        // Silence: a process that is starting again is not recorded.
        Self.programs.compactMap { try? process($0) }.filter(\.isAlive)
    }

    /// Returns a client of the gateway.
    func gateway(jwt: String? = nil) -> ServiceClient { client(port: gatewayPort, jwt: jwt) }

    /// Returns a client of one service, without the gateway.
    func client(port: Int, jwt: String?) -> ServiceClient {
        ServiceClient(
            callee: "roost",
            transport: LongTimeoutTransport(transport: HTTPTransport(baseURLs: ["http://127.0.0.1:\(port)"])),
            retry: .never,
            authorization: { jwt.map { "Bearer \($0)" } }
        )
    }

    /// Registers a user and signs in.
    func person(_ name: String) async throws -> Person {
        let draft = AccountDraft(username: name, password: "a password of \(name)")
        let registered: RegistrationResult = try await gateway().post("/auth/register", draft, timeout: .seconds(20))
        let person = try await signInAgain(name)
        #expect(person.signIn.userId == registered.userId)
        return person
    }

    /// Signs in a registered user.
    func signInAgain(_ name: String) async throws -> Person {
        let signIn: SignIn = try await gateway().post(
            "/auth/login",
            LoginDraft(username: name, password: "a password of \(name)", deviceId: "test"),
            timeout: .seconds(20)
        )
        return Person(name: name, signIn: signIn, service: gateway(jwt: signIn.jwt))
    }

    /// Copies the secrets of another suite, as an operator does for a move.
    func copySecrets(of other: RunningSuite) throws {
        try FileManager.default.createDirectory(atPath: "\(directory)/.roost", withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            atPath: "\(other.directory)/.roost/secrets.env",
            toPath: "\(directory)/.roost/secrets.env"
        )
    }

    private func discard() async {
        if let supervisor {
            supervisor.signal(SIGTERM)
            if await supervisor.exit(within: .seconds(30)) == nil {
                supervisor.signal(SIGKILL)
                _ = await supervisor.exit()
            }
        }
        for process in processes() {
            process.signal(SIGKILL)
            _ = await process.hasEnded(within: .seconds(5))
        }
        // Silence: the remaining files are in temporary folders. Root's PostgreSQL data is outside of the directory.
        if let data = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/.roost/postgres") {
            try? FileManager.default.removeItem(atPath: data)
        }
        try? FileManager.default.removeItem(atPath: directory)
    }
}

/// A signed-in user.
struct Person: Sendable {
    let name: String
    let signIn: SignIn
    let service: ServiceClient

    var conversations: ConversationsClient { ConversationsClient(service) }
    var preferences: PreferencesClient { PreferencesClient(service) }
}

/// Raises the timeout of requests, so that a machine that stalls for some seconds fails no test.
private struct LongTimeoutTransport: Transport {
    let transport: HTTPTransport

    func send(_ request: ServiceRequest) async throws -> ServiceResponse {
        var request = request
        request.timeout = max(request.timeout, .seconds(20))
        return try await transport.send(request)
    }
}

/// A failure to arrange a test or to reach an expected state.
struct SuiteError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Polls until a condition is true.
func eventually(within limit: Duration, _ expectation: String, _ condition: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < deadline else {
            throw SuiteError("not \(expectation) within \(limit)")
        }
        try await Task.sleep(for: .milliseconds(20))
    }
}
