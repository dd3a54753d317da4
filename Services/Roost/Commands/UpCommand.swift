import ArgumentParser
import Glibc

struct UpCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "up",
        abstract: "Starts PostgreSQL and the services, and keeps them running.",
        discussion: """
            Processes that exit are restarted. Ctrl-C stops everything cleanly, a second Ctrl-C at once. Settings are \
            environment variables or lines of .env; .env.example lists them.
            """
    )

    /// Raises the limit of open files to the system's maximum, so that services can hold as many connections as
    /// possible.
    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else {
            return
        }
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
    }

    private enum Event: Sendable {
        case started
        case failed(String)
        case signal
        case stopped
    }

    @OptionGroup var options: WorkspaceOptions

    @Option(help: .hidden)
    var livenessTimeout = 30

    func validate() throws {
        guard 1...3_600 ~= livenessTimeout else {
            throw ValidationError("--liveness-timeout must be 1 to 3600 seconds")
        }
    }

    func run() async throws {
        let signals = Signals([SIGINT, SIGTERM, SIGHUP])
        Self.raiseDescriptorLimit()
        let workspace = try options.workspace()
        try workspace.create()
        try workspace.lock()
        let console = Console()
        let supervisor = Supervisor(
            console: console,
            registry: ProcessRegistry(path: workspace.processesFile),
            exitLog: ExitLog(path: workspace.restartsFile)
        )
        let start = SuiteStarter(
            workspace: workspace,
            supervisor: supervisor,
            console: console,
            logger: RoostCommand.logger(),
            livenessTimeout: .seconds(livenessTimeout)
        )

        let (events, eventContinuation) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(64))
        let starting = Task {
            do {
                try await start.run()
                eventContinuation.yield(.started)
            } catch {
                eventContinuation.yield(.failed("\(error)"))
            }
        }
        let listening = Task {
            for await _ in signals {
                eventContinuation.yield(.signal)
            }
        }
        defer { listening.cancel() }

        var isStopping = false
        var hasFailed = false
        for await event in events {
            switch event {
            case .started:
                continue
            case .failed where isStopping:
                continue
            case .signal where isStopping:
                await supervisor.force()
                continue
            case .failed(let reason):
                console.report("roost: \(reason)")
                hasFailed = true
            case .signal:
                console.report("roost: stopping; press Ctrl-C again to stop at once")
            case .stopped:
                await starting.value
                if hasFailed {
                    throw ExitCode.failure
                }
                return
            }
            isStopping = true
            starting.cancel()
            Task {
                await supervisor.stop()
                eventContinuation.yield(.stopped)
            }
        }
    }
}
