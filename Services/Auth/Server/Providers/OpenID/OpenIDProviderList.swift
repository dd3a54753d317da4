import Foundation
import ServiceHost
import Wire

/// The setting `OPENID_PROVIDERS`: a JSON object of providers by their names in paths.
///
/// `{"corp": {"issuer": "https://id.example.org", "clientId": "roost", "clientSecret": "…", "trustEmail": true}}`.
/// `clientId` is one id, or an array of ids with the web application's first. `scope` replaces `openid email profile`.
/// With `trustEmail`, the provider is trusted when it reports an address as verified. Set it only for a provider that
/// verifies addresses: its users can sign in to existing accounts with the same address.
enum OpenIDProviderList {
    private static let setting = "OPENID_PROVIDERS"

    /// - Throws: `SettingError` that names the invalid provider.
    static func read(_ text: String, namesTaken: Set<String>) throws -> [OpenIDSettings] {
        // The parse error is replaced by the message below.
        guard case .object(let entries) = try? JSONParser.parse(text.utf8) else {
            throw SettingError(setting, "must be a JSON object of providers by name")
        }
        return try entries.sorted { $0.key < $1.key }.map { name, json in
            guard name.wholeMatch(of: /[a-z][a-z0-9-]{0,31}/) != nil, !namesTaken.contains(name) else {
                throw SettingError(
                    setting,
                    "names \"\(name)\"; a name must be 1 to 32 of a-z, 0-9 and -, and not one of \(namesTaken.sorted())"
                )
            }
            return try provider(name, json)
        }
    }

    private static func provider(_ name: String, _ json: JSONValue) throws -> OpenIDSettings {
        guard case .object(let fields) = json else { throw SettingError(setting, "must have an object for \(name)") }
        let allowedFields: Set = ["issuer", "clientId", "clientSecret", "scope", "trustEmail"]
        if let other = Set(fields.keys).subtracting(allowedFields).min() {
            let allowed = allowedFields.sorted().joined(separator: ", ")
            throw SettingError(setting, "has an unknown field \"\(other)\" for \(name); allowed are \(allowed)")
        }
        let clients: [String]
        switch fields["clientId"] {
        case .string(let client): clients = [client]
        case .array(let all): clients = all.compactMap(\.text)
        default: clients = []
        }
        guard !clients.isEmpty, !clients.contains("") else {
            throw SettingError(setting, "has no clientId for \(name)")
        }
        guard let issuer = fields["issuer"]?.text, let parts = URLComponents(string: issuer),
            ["http", "https"].contains(parts.scheme), parts.host?.isEmpty == false, parts.query == nil,
            parts.fragment == nil
        else { throw SettingError(setting, "has no valid issuer for \(name); it must be a URL without a query") }
        var settings = OpenIDSettings(name: name, issuer: issuer, clients: clients)
        settings.secret = fields["clientSecret"]?.text.map { .text($0) }
        if let scope = fields["scope"]?.text {
            guard scope.split(separator: " ").contains("openid") else {
                throw SettingError(setting, "has a scope without openid for \(name)")
            }
            settings.scope = scope
        }
        settings.emailTrust = fields["trustEmail"] == .bool(true) ? .always : .never
        return settings
    }
}
