package import Configuration
package import ServiceClient
import ServiceHost
import Synchronization

/// The way to a service whose instances may be elsewhere after a reload.
package final class MovableTransport: Transport, Reloading {
    private let setting: String
    private let standard: String
    private let current: Mutex<HTTPTransport>

    /// - Parameters:
    ///   - setting: names the instances, as `AUTH_URL` does.
    ///   - standard: where they are unless it is set.
    ///   - settings: are read now, and again on each reload.
    /// - Throws: where the setting makes no sense.
    package init(setting: String, default standard: String, settings: ConfigReader) throws {
        self.setting = setting
        self.standard = standard
        current = Mutex(HTTPTransport(baseURLs: try settings.baseURLs(setting, default: standard)))
    }

    package var name: String { "the gateway's own calls to auth" }

    package func reload(_ settings: ConfigReader) throws {
        let urls = try settings.baseURLs(setting, default: standard)
        current.withLock { $0 = HTTPTransport(baseURLs: urls) }
    }

    package func send(_ request: ServiceRequest) async throws -> ServiceResponse {
        try await current.withLock { $0 }.send(request)
    }
}
