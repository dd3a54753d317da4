package import Configuration
import Foundation
package import Logging
import Metrics
package import ServiceLifecycle
import SystemPackage
import UnixSignals

/// The beats every process of the suite starts and stops by, the gateway too.
package struct Boot: Sendable {
    package let configuration: ConfigReader
    package let logger: Logger
    package let metrics: PrometheusRegistry

    /// Reads settings, sets up logs and metrics, makes the services and runs them to their graceful end.
    ///
    /// What keeps the process from starting is said in one line, and its exit status is 1.
    ///
    /// - Parameter services: in the order they start; they stop in reverse.
    package static func run(_ name: String, services: @Sendable (Boot) async throws -> [any Service]) async {
        do {
            let configuration = try await settings()
            let level = configuration.text("LOG_LEVEL", default: "info")
            guard let logLevel = Logger.Level(rawValue: level.lowercased()) else {
                throw SettingError("LOG_LEVEL", "is \"\(level)\"; it is one of \(Logger.Level.allCases)")
            }
            LoggingSystem.bootstrap { label in JSONLogHandler(label: label, level: logLevel) }
            let metrics = PrometheusRegistry()
            MetricsSystem.bootstrap(metrics)
            let boot = Boot(configuration: configuration, logger: Logger(label: name), metrics: metrics)
            var services = try await services(boot)
            if try configuration.flag("SUPERVISED") { services.insert(EndOfInput(), at: 0) }
            let group = ServiceGroup(
                configuration: ServiceGroupConfiguration(
                    services: services.map { .init(service: $0, successTerminationBehavior: .gracefullyShutdownGroup) },
                    gracefulShutdownSignals: [.sigterm, .sigint],
                    logger: boot.logger
                )
            )
            boot.logger.info("starting")
            try await group.run()
            boot.logger.info("stopped")
        } catch {
            FileHandle.standardError.write(Data("\(name): \(error)\n".utf8))
            exit(1)
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

/// Ends with standard input: a supervisor holds its other end, so that no process outlives it.
private struct EndOfInput: Service {
    func run() async throws {
        let (ended, continuation) = AsyncStream<Void>.makeStream()
        let thread = Thread {
            var byte: UInt8 = 0
            while true {
                let count = read(STDIN_FILENO, &byte, 1)
                if count == 0 || (count < 0 && errno != EINTR) { break }
            }
            continuation.finish()
        }
        thread.start()
        for await _ in ended.cancelOnGracefulShutdown() {}
    }
}
