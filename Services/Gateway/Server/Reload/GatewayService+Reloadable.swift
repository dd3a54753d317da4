package import Configuration
import Logging

extension GatewayService: Reloadable {
    package var name: String { "the gateway" }

    package func reload(_ settings: ConfigReader) async throws {
        let configuration = try GatewayConfiguration(reader: settings)
        for setting in state.configuration.startupSettings(changedIn: configuration) {
            state.logger.warning("changed setting takes effect at the next start", metadata: ["setting": "\(setting)"])
        }
        try await reconfigure(configuration)
    }
}

extension GatewayConfiguration {
    /// Returns the settings that differ in `successor` and cannot change while the gateway runs.
    fileprivate func startupSettings(changedIn successor: GatewayConfiguration) -> [String] {
        [
            ("HOST", host != successor.host), ("PORT", port != successor.port),
            ("MANAGEMENT_PORT", managementPort != successor.managementPort),
            ("EVENT_LOOPS", eventLoops != successor.eventLoops),
        ].filter(\.1).map(\.0)
    }
}
