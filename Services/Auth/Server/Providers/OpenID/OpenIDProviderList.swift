import Foundation
import ServiceHost
import Wire

/// The setting `OPENID_PROVIDERS`: an object of providers by the names that paths have.
///
/// `{"corp": {"issuer": "https://id.example.org", "clientId": "roost", "clientSecret": "…", "trustEmail": true}}`.
/// `clientId` is one id, or an array of them with the web application's first; `scope` may ask for more or less than
/// `openid email profile`. With `trustEmail` the provider's word counts that an address is verified; say so only of
/// one that makes sure of it, for its people then come in by the address of accounts that are here.
enum OpenIDProviderList {
    private static let setting = "OPENID_PROVIDERS"

    /// - Throws: `SettingError` that names the provider at fault.
    static func read(_ text: String, namesTaken: Set<String>) throws -> [OpenIDSettings] {
        // Silence: that it cannot be read is what is said.
        guard case .object(let entries) = try? JSONParser.parse(text.utf8) else {
            throw SettingError(setting, "is no JSON object of providers by their names")
        }
        return try entries.sorted { $0.key < $1.key }.map { name, json in
            guard name.wholeMatch(of: /[a-z][a-z0-9-]{0,31}/) != nil, !namesTaken.contains(name) else {
                throw SettingError(
                    setting,
                    "names \"\(name)\"; a name is 1 to 32 of a-z, 0-9 and -, and none of \(namesTaken.sorted())"
                )
            }
            return try provider(name, json)
        }
    }

    private static func provider(_ name: String, _ json: JSONValue) throws -> OpenIDSettings {
        guard case .object(let fields) = json else { throw SettingError(setting, "has no object for \(name)") }
        let known: Set = ["issuer", "clientId", "clientSecret", "scope", "trustEmail"]
        if let other = Set(fields.keys).subtracting(known).min() {
            throw SettingError(
                setting,
                "says \"\(other)\" of \(name); there is \(known.sorted().joined(separator: ", "))"
            )
        }
        let clients: [String]
        switch fields["clientId"] {
        case .string(let one): clients = [one]
        case .array(let all): clients = all.compactMap(\.text)
        default: clients = []
        }
        guard !clients.isEmpty, !clients.contains("") else {
            throw SettingError(setting, "has no clientId for \(name)")
        }
        guard let issuer = fields["issuer"]?.text, let parts = URLComponents(string: issuer),
            ["http", "https"].contains(parts.scheme), parts.host?.isEmpty == false, parts.query == nil,
            parts.fragment == nil
        else { throw SettingError(setting, "has no issuer for \(name), a URL without a query") }
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
