package import Configuration
package import Credentials
package import Logging

extension ServiceKeys {
    /// The keys of this process: from `SERVICE_KEY` and `SERVICE_PUBLIC_KEYS`, or derived from a shared `SERVICE_SECRET`.
    ///
    /// - Throws: a `SettingError` or an `APIError` that names the setting that is missing or malformed.
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
