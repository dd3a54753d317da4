package import Configuration
import Foundation
import Locks
package import Logging
import Metrics
import NIOPosix
package import ServiceLifecycle
import SystemPackage
import UnixSignals

/// The start and stop sequence of every process of the suite, including the gateway.
package struct Boot: Sendable {
    package let configuration: ConfigReader
    /// Reads the settings again: the process's environment never changes, but the settings file may.
    package let readSettings: @Sendable () async throws -> ConfigReader
    package let logger: Logger
    package let metrics: PrometheusRegistry

    /// Reads the settings, sets up logs and metrics, creates the services and runs them until a graceful shutdown.
    ///
    /// A failure to start is printed as one line, and the exit status is 1.
    ///
    /// - Parameters:
    ///   - name: the process's name in its logs.
    ///   - services: creates the services in the order of their start; they stop in reverse order.
    package static func run(_ name: String, services: @Sendable (Boot) async throws -> [any Service]) async {
        exitOnSignalDuringStartup()
        do {
            let configuration = try await settings()
            let level = configuration.text("LOG_LEVEL", default: "info")
            guard let logLevel = Logger.Level(rawValue: level.lowercased()) else {
                throw SettingError("LOG_LEVEL", "is \"\(level)\"; it must be one of \(Logger.Level.allCases)")
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
            // `roost up` sets it; it is no setting of an operator.
            let parentMonitor = try configuration.flag("SUPERVISED") ? ParentMonitor() : nil
            var services = try await services(boot)
            if !services.isEmpty {
                let group = MultiThreadedEventLoopGroup.singleton
                let subjects = Watchdog.Subject.loops("event loop", of: group) + [.cooperativePool]
                // The watchdog is the last service, so it stops first and never submits work to an event loop that was
                // shut down.
                services.append(Watchdog(name, watching: subjects))
            }
            var group = ServiceGroupConfiguration(
                services: services.map { .init(service: $0, successTerminationBehavior: .gracefullyShutdownGroup) },
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: boot.logger
            )
            // A service that does not drain is finally cancelled, even if no supervisor kills this process.
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

    /// Makes signals end the process until the service group handles them, for example while it waits for the database.
    ///
    /// Without a handler, the kernel ignores these signals for the first process of a container.
    private static func exitOnSignalDuringStartup() {
        for number in [SIGTERM, SIGINT] {
            signal(number) { _exit(128 + $0) }
        }
    }

    /// Returns the settings: the environment first, then the file of `NAME=value` lines at `SETTINGS_FILE`.
    private static func settings() async throws -> ConfigReader {
        let environment = EnvironmentVariablesProvider()
        guard let path = ConfigReader(provider: environment).text("SETTINGS_FILE") else {
            return ConfigReader(provider: environment)
        }
        let file = try await EnvironmentVariablesProvider(environmentFilePath: FilePath(path))
        return ConfigReader(providers: [environment, file])
    }
}

/// A monitor of standard input, which closes when the supervisor exits, so that no process outlives its supervisor.
///
/// Before a shutdown action is set, the end of standard input exits the process.
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
        thread.name = "parent monitor"
        thread.start()
    }

    /// Sets the action that replaces the immediate exit.
    func onParentExit(_ action: @escaping @Sendable () -> Void) {
        end.withLock { $0 = action }
    }
}
