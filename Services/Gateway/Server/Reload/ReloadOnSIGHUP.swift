package import Configuration
package import Logging
import ServiceLifecycle
import UnixSignals

/// Reads the settings again on SIGHUP and passes them to all reloadable parts.
///
/// Each part validates the settings itself. When a part rejects them, the reason is logged and that part keeps its
/// previous settings.
package struct ReloadOnSIGHUP: Service {
    private let parts: [any Reloadable]
    private let logger: Logger
    private let read: @Sendable () async throws -> ConfigReader

    /// Creates the service.
    ///
    /// - Parameters:
    ///   - parts: the parts to reload, in this order.
    ///   - logger: the log for the results.
    ///   - read: reads the current settings.
    package init(
        _ parts: [any Reloadable],
        logger: Logger,
        reading read: @escaping @Sendable () async throws -> ConfigReader
    ) {
        self.parts = parts
        self.logger = logger
        self.read = read
    }

    package func run() async {
        let signals = await UnixSignalsSequence(trapping: .sighup)
        for await _ in signals.cancelOnGracefulShutdown() { await reload() }
    }

    package func reload() async {
        let settings: ConfigReader
        do {
            settings = try await read()
        } catch {
            logger.error("settings cannot be read and are not reloaded", metadata: ["error": "\(error)"])
            return
        }
        for part in parts {
            do {
                try await part.reload(settings)
                logger.info("settings reloaded", metadata: ["part": "\(part.name)"])
            } catch {
                let reason: Logger.Metadata = ["part": "\(part.name)", "error": "\(error)"]
                logger.error("settings rejected, previous settings stay in effect", metadata: reason)
            }
        }
    }
}
