package import Configuration
package import Logging
import ServiceLifecycle
import UnixSignals

/// Reads the settings anew on SIGHUP, and hands them to all who take up others.
///
/// Each of them judges for itself: what one refuses is logged with its reason, and changes nothing there.
package struct ReloadOnSIGHUP: Service {
    private let parts: [any Reloadable]
    private let logger: Logger
    private let read: @Sendable () async throws -> ConfigReader

    /// - Parameters:
    ///   - parts: who takes up other settings, in this order.
    ///   - logger: hears what came of it.
    ///   - read: the settings as they are now.
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

    /// What SIGHUP does.
    package func reload() async {
        let settings: ConfigReader
        do {
            settings = try await read()
        } catch {
            logger.error("settings not reloaded: they cannot be read", metadata: ["error": "\(error)"])
            return
        }
        for part in parts {
            do {
                try await part.reload(settings)
                logger.info("reloaded", metadata: ["part": "\(part.name)"])
            } catch {
                let reason: Logger.Metadata = ["part": "\(part.name)", "error": "\(error)"]
                logger.error("not reloaded, all stays as it was", metadata: reason)
            }
        }
    }
}
