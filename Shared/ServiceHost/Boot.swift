package import Configuration
import Foundation
import Locks
package import Logging
import Metrics
import NIOPosix
package import ServiceLifecycle
import SystemPackage
import UnixSignals

/// The beats every process of the suite starts and stops by, the gateway too.
package struct Boot: Sendable {
    package let configuration: ConfigReader
    /// Reads the settings again, as they are now; the environment of a process never changes, a file does.
    package let readSettings: @Sendable () async throws -> ConfigReader
    package let logger: Logger
    package let metrics: PrometheusRegistry

    /// Reads settings, sets up logs and metrics, makes the services and runs them to their graceful end.
    ///
    /// What keeps the process from starting is said in one line, and its exit status is 1.
    ///
    /// - Parameters:
    ///   - name: of the process, in its logs.
    ///   - services: in the order they start; they stop in reverse.
    package static func run(_ name: String, services: @Sendable (Boot) async throws -> [any Service]) async {
        exitOnSignalDuringStartup()
        do {
            let configuration = try await settings()
            let level = configuration.text("LOG_LEVEL", default: "info")
            guard let logLevel = Logger.Level(rawValue: level.lowercased()) else {
                throw SettingError("LOG_LEVEL", "is \"\(level)\"; it is one of \(Logger.Level.allCases)")
            }
            LoggingSystem.bootstrap { label in JSONLogHandler(label: label, level: logLevel) }
            let metrics = PrometheusRegistry()
            MetricsSystem.bootstrap(metrics)
            let boot = Boot(
                configuration: configuration,
                readSettings: { try await settings() },
                logger: Logger(label: name),
                metrics: metrics
            )
            ProcessHistory().export()
            let parentMonitor = try configuration.flag("SUPERVISED") ? ParentMonitor() : nil
            var services = try await services(boot)
            if !services.isEmpty {
                let group = MultiThreadedEventLoopGroup.singleton
                let subjects = Watchdog.Subject.loops("event loop", of: group) + [.cooperativePool]
                // The last one, so that it is the first to stop: it gives nothing to an event loop that was shut down.
                services.append(Watchdog(name, watching: subjects))
            }
            var group = ServiceGroupConfiguration(
                services: services.map { .init(service: $0, successTerminationBehavior: .gracefullyShutdownGroup) },
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: boot.logger
            )
            // What does not drain is cancelled in the end, whether or not somebody is there to kill this process.
            let drainTimeout = try configuration.number("DRAIN_TIMEOUT", default: 30, in: 1...3_600)
            group.maximumGracefulShutdownDuration = .seconds(drainTimeout + 1)
            try await run(ServiceGroup(configuration: group), holding: parentMonitor, boot: boot)
        } catch {
            FileHandle.standardError.write(Data("\(name): \(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ group: ServiceGroup, holding parentMonitor: ParentMonitor?, boot: Boot) async throws {
        parentMonitor?.onParentExit { Task { await group.triggerGracefulShutdown() } }
        boot.logger.info("starting")
        try await group.run()
        boot.logger.info("stopped")
    }

    /// Lets a signal end the process while it still waits for its database, until the service group takes the signals.
    ///
    /// As the first process of a container it would not even notice one that it has no handler for.
    private static func exitOnSignalDuringStartup() {
        for number in [SIGTERM, SIGINT] {
            signal(number) { _exit(128 + $0) }
        }
    }

    /// The environment, before a file of `NAME=value` lines that `SETTINGS_FILE` names.
    private static func settings() async throws -> ConfigReader {
        let environment = EnvironmentVariablesProvider()
        guard let path = ConfigReader(provider: environment).text("SETTINGS_FILE") else {
            return ConfigReader(provider: environment)
        }
        let file = try await EnvironmentVariablesProvider(environmentFilePath: FilePath(path))
        return ConfigReader(providers: [environment, file])
    }
}

/// Standard input, whose other end a supervisor holds, so that no process outlives it.
///
/// Before there is anything to shut down, the end of it ends the process.
private final class ParentMonitor: Sendable {
    private let end = Lock<(@Sendable () -> Void)?>(nil)

    init() {
        let thread = Thread {
            var byte: UInt8 = 0
            while true {
                let count = read(STDIN_FILENO, &byte, 1)
                if count == 0 || (count < 0 && errno != EINTR) { break }
            }
            guard let end = self.end.withLock({ $0 }) else { exit(0) }
            end()
        }
        thread.name = "lifeline"
        thread.start()
    }

    /// What to do at the end instead.
    func onParentExit(_ action: @escaping @Sendable () -> Void) {
        end.withLock { $0 = action }
    }
}
