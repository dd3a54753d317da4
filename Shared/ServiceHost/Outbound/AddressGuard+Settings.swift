package import Configuration
import Foundation
package import NetworkGuard

extension AddressGuard {
    /// Reads `ALLOWED_PRIVATE_HOSTS` (none): `host:port`, comma-separated.
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
                throw SettingError("ALLOWED_PRIVATE_HOSTS", "has \"\(entry)\"; an entry is like 10.0.0.7:8443")
            }
        }
        self.init(allowing: Set(entries))
    }

    /// Whether an origin that a user or a peer chose may be requested, as far as its spelling tells.
    package func mayConnect(_ origin: HTTPOrigin) -> Bool {
        mayConnect(host: origin.host, port: origin.port, isSecure: origin.isSecure)
    }
}
