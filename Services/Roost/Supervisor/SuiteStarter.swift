import ChildProcesses
import Foundation
import Glibc
import LocalPostgres
import Logging
import Wire

struct SuiteStarter: Sendable {
    /// A process that exits this often before it is ready for the first time will not become ready by itself.
    private static let maximumFailedStarts = 5

    let workspace: Workspace
    let supervisor: Supervisor
    let console: Console
    let logger: Logger
    /// The time without a response after which a service is killed.
    var livenessTimeout = Duration.seconds(30)

    /// Starts all processes and returns when they are ready; the supervisor then keeps them running.
    func run() async throws {
        let settings = try SuiteSettings(workspace: workspace, makingSecrets: true)
        let executables = try Executables()
        let instances = try settings.instances().filter { instance in
            let isBuilt = executables.path(of: instance.program.name) != nil
            if !isBuilt {
                console.report("roost: \(instance.program.name) is not built and is skipped")
            }
            return isBuilt
        }
        if geteuid() == 0 {
            console.report("roost: running as root, so the services run as root too; PostgreSQL runs as postgres")
        }
        let database = settings.databaseURL == nil ? "\(workspace.postgres)" : "the server of DATABASE_URL"
        console.report(
            "roost: the data of this checkout is in \(database), files in \(settings.uploads(in: workspace))"
        )
        let limit = Duration.seconds(settings.drainTimeout + 2)
        try await supervisor.registry.stopLeftovers(within: limit) { console.report("roost: \($0)") }
        for port in try settings.neededPorts(for: instances) {
            if let conflict = port.conflict() {
                throw Workspace.Problem("\(conflict.problem): \(conflict.remedy)")
            }
        }
        let databases = try await startDatabase(settings)
        let width = instances.map(\.name.count).max() ?? 0
        var services: [(SuiteInstance, SupervisedProcess)] = []
        var sandbox: SandboxEnvironment?
        for instance in instances {
            var environment = try settings.environment(of: instance, databaseURL: databases[instance.program.name])
            environment = try sandbox?.added(to: environment, of: instance.program) ?? environment
            var command = ProcessCommand(
                executables.path(of: instance.program.name) ?? instance.program.name,
                environment: environment
            )
            command.workingDirectory = workspace.root
            command.input = .held
            command.ignoresBrokenPipes = true
            let log = "\(workspace.logs)/\(instance.name).log"
            let service = await supervisor.supervise(
                SupervisedProcess.Configuration(
                    name: instance.name,
                    stage: Self.stage(of: instance.program),
                    stopLimit: limit,
                    healthURL: try settings.healthURL(of: instance),
                    livenessTimeout: livenessTimeout
                ) { [command] exits in
                    var command = command
                    command.environment.merge(exits.environment) { $1 }
                    command.output = .chunks(console.output(of: instance.name, log: log, width: width))
                    return try await ChildProcess.start(command)
                }
            )
            services.append((instance, service))
            // The programs that start later use the settings of the sandbox.
            if instance.program == .sandbox {
                try await waitUntilReady(services)
                sandbox = try await SandboxEnvironment.read(from: instance.url)
            }
        }
        try await waitUntilReady(services)
        console.report("Roost is ready at \(try settings.gatewayURL())")
        guard let sandbox, services.contains(where: { $0.0.program.name == "social" }) else { return }
        await prepareDemo(settings, sandbox.networks)
    }

    private static func stage(of program: SuiteProgram) -> SupervisedProcess.Configuration.Stage {
        // Only clients call the gateway.
        program.urlKey == nil ? .front : program == .sandbox ? .base : .services
    }

    /// Prepares the demo; nothing else waits for it or fails with it.
    private func prepareDemo(_ settings: SuiteSettings, _ networks: SandboxNetworks) async {
        do {
            let password = try Secrets.demoPassword(in: workspace, given: settings.given)
            let demo = Demo(settings, networks: networks, password: password)
            let signIn = try await demo.prepare(relinking: true) { console.report("roost: \($0)") }
            try await demo.account.signOut(signIn)
        } catch is CancellationError {
            // The suite is stopping.
        } catch {
            console.report("roost: the demo account is not available: \((error as? APIError)?.message ?? "\(error)")")
        }
    }

    /// Starts the private PostgreSQL unless the operator has one, and returns each service's connection URL.
    private func startDatabase(_ settings: SuiteSettings) async throws -> [String: String] {
        let databases = SuiteDatabase(settings: settings, logger: logger)
        guard settings.databaseURL == nil else {
            return try await databases.prepare(reporting: { console.report("roost: \($0)") })
        }
        let server = try PostgresServer(.init(directory: workspace.postgres), logger: logger)
        try await server.prepare()
        try workspace.recordCheckout()
        let postgres = await supervisor.supervise(
            SupervisedProcess.Configuration(
                name: ProcessRegistry.postgresql,
                stage: .base,
                stopSignal: SIGINT,
                forceSignal: SIGQUIT,
                stopLimit: .seconds(10),
                launch: { _ in try await server.launch() }
            )
        )
        while !server.isReady {
            guard postgres.exits.count < Self.maximumFailedStarts else {
                throw Workspace.Problem(
                    "PostgreSQL \(postgres.exits.last); the end of \(server.logFile):\n\(server.logTail())"
                )
            }
            // The server reports its readiness only in a file.
            try await Task.sleep(for: .milliseconds(10))
        }
        return try await databases.prepare(on: server, reporting: { console.report("roost: \($0)") })
    }

    private func waitUntilReady(_ services: [(SuiteInstance, SupervisedProcess)]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (instance, service) in services {
                group.addTask {
                    while await Readiness.of(instance.readinessURL) != .ready {
                        guard service.exits.count < Self.maximumFailedStarts else {
                            throw Workspace.Problem(
                                "\(service.name) \(service.exits.last), \(Self.maximumFailedStarts) times"
                            )
                        }
                        // A service reports its readiness only on request.
                        try await Task.sleep(for: .milliseconds(50))
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}

/// The suite's executables, which are in the folder of this one.
struct Executables: Sendable {
    private let folder: String

    init() throws {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        folder = URL(filePath: own).deletingLastPathComponent().path(percentEncoded: false)
    }

    func path(of name: String) -> String? {
        let path = folder + name
        return FileManager.default.isExecutableFile(atPath: path) ? path : nil
    }
}
