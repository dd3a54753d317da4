package import Configuration
package import Credentials
package import Logging

extension ServiceKeys {
    /// Reads the keys of this process from `SERVICE_KEY` and `SERVICE_PUBLIC_KEYS`, or derives them from a shared
    /// `SERVICE_SECRET`.
    ///
    /// - Parameters:
    ///   - configuration: the settings.
    ///   - name: the service's name.
    ///   - logger: receives a warning if the shared secret is used.
    /// - Throws: a `SettingError` or an `APIError` that names the missing or malformed setting.
    package init(configuration: ConfigReader, name: String, logger: Logger) throws {
        guard configuration.text("SERVICE_KEY") != nil else {
            try self.init(secret: try configuration.secret("SERVICE_SECRET"), name: name)
            logger.warning("service keys are derived from the shared SERVICE_SECRET; set SERVICE_KEY in production")
            return
        }
        try self.init(
            privateKeys: try configuration.secret("SERVICE_KEY"),
            publicKeys: configuration.text("SERVICE_PUBLIC_KEYS", default: ""),
            name: name
        )
    }
}
