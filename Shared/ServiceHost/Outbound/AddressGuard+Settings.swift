package import Configuration
import Foundation
package import NetworkGuard

extension AddressGuard {
    /// Reads `ALLOWED_PRIVATE_HOSTS` (none): comma-separated entries `host:port`.
    package init(_ configuration: ConfigReader) throws {
        guard let setting = configuration.text("ALLOWED_PRIVATE_HOSTS") else {
            self.init()
            return
        }
        let entries = setting.split(separator: ",", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces).lowercased() }
        for entry in entries {
            let parts = URLComponents(string: "http://\(entry)")
            guard let parts, parts.host?.isEmpty == false, parts.port != nil, parts.path.isEmpty, parts.user == nil
            else {
                throw SettingError("ALLOWED_PRIVATE_HOSTS", "has \"\(entry)\"; use the form 10.0.0.7:8443")
            }
        }
        self.init(allowing: Set(entries))
    }

    /// Returns whether an origin that a user or a peer chose may be requested, judged by its text.
    package func mayConnect(_ origin: HTTPOrigin) -> Bool {
        mayConnect(host: origin.host, port: origin.port, isSecure: origin.isSecure)
    }
}
