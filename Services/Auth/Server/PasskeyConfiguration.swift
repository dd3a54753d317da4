import Configuration
import Foundation
import ServiceHost
import WebAuthn

/// The domain, pages and apps for which passkeys are created.
struct PasskeyConfiguration: Sendable {
    let party: RelyingParty

    /// Reads the settings.
    ///
    /// - `PASSKEY_RP_ID` (the host of `PUBLIC_URL`; `localhost` if that is an IP address): the domain of the passkeys.
    ///   Changing it makes all existing passkeys unusable.
    /// - `PASSKEY_ORIGINS` (`PUBLIC_URL`): pages and apps that may use the passkeys, comma-separated, as browsers write
    ///   them: `https://example.org`, `android:apk-key-hash:…`.
    init(_ configuration: ConfigReader, publicURL: String) throws {
        let parts = URLComponents(string: publicURL)
        let host = parts?.host?.lowercased() ?? "localhost"
        // Browsers do not create passkeys for an IP address (WebAuthn level 2, section 5.1.2: a valid domain).
        let isAddress = host.contains(":") || IPAddress(host) != nil
        let domain = isAddress ? "localhost" : host
        let port = parts?.port.map { ":\($0)" } ?? ""
        let own = "\(parts?.scheme ?? "https")://\(domain)\(port)"

        let id = configuration.text("PASSKEY_RP_ID", default: domain).lowercased()
        guard !id.contains(where: { "/:@ ".contains($0) }), !id.hasPrefix("."), !id.hasSuffix(".") else {
            throw SettingError("PASSKEY_RP_ID", "is \"\(id)\"; it must be a domain like example.org")
        }
        let origins = configuration.text("PASSKEY_ORIGINS", default: own).split(separator: ",")
            .map { $0.trimmingCharacters(in: .whitespaces) }
        guard origins.allSatisfy({ Self.isOrigin($0, of: id) }) else {
            throw SettingError(
                "PASSKEY_ORIGINS",
                "must be origins of \(id), like https://\(id) without a trailing slash, or android:apk-key-hash:…"
            )
        }
        party = RelyingParty(id: id, origins: Set(origins))
    }

    /// Returns whether the text names an Android app, or a page of the domain over HTTPS or on localhost.
    private static func isOrigin(_ text: String, of domain: String) -> Bool {
        if text.hasPrefix("android:apk-key-hash:") { return text.count > "android:apk-key-hash:".count }
        guard let parts = URLComponents(string: text), let host = parts.host, parts.path.isEmpty, parts.query == nil,
            host == domain || host.hasSuffix(".\(domain)")
        else { return false }
        let isThisMachine = host == "localhost" || host.hasSuffix(".localhost")
        return parts.scheme == "https" || (parts.scheme == "http" && isThisMachine)
    }
}
