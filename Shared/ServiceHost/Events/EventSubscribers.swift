package import Configuration
import ServiceClient

/// The subscribers of each event type.
///
/// They come from a setting, so a service's code only names the services that it calls.
package struct EventSubscribers: Sendable {
    /// The names of the subscribing services by event type.
    private let names: [String: [String]]
    /// The client of each subscribing service.
    let clients: [String: ServiceClient]

    package static let none = EventSubscribers(names: [:], clients: [:])

    private init(names: [String: [String]], clients: [String: ServiceClient]) {
        self.names = names
        self.clients = clients
    }

    /// Reads `EVENT_SUBSCRIBERS` (empty): comma-separated entries `type=service`, or `type=service+service` for
    /// several.
    ///
    /// Events are sent to the address of the service (`PUSH_URL` and similar settings). Entries for other types than
    /// `types` are ignored, because other services publish those.
    ///
    /// - Parameters:
    ///   - configuration: the settings.
    ///   - types: the event types that this service publishes.
    ///   - peers: the clients of the other services.
    /// - Throws: a ``SettingError`` if an entry is malformed or the address of a service is missing.
    package init(_ configuration: ConfigReader, types: Set<String>, peers: PeerServices) throws {
        var names: [String: [String]] = [:]
        let setting = configuration.text("EVENT_SUBSCRIBERS")
        for entry in setting?.split(separator: ",", omittingEmptySubsequences: false) ?? [] {
            let parts = entry.split(separator: "=", omittingEmptySubsequences: false).map(Self.trimmed)
            let services = parts.last?.split(separator: "+", omittingEmptySubsequences: false).map(Self.trimmed) ?? []
            guard parts.count == 2, Self.isName(parts[0]), services.allSatisfy(Self.isName) else {
                throw SettingError(
                    "EVENT_SUBSCRIBERS",
                    "contains \"\(entry)\"; each entry must be type=service, for example device.registered=push"
                )
            }
            for service in services where types.contains(parts[0]) && names[parts[0]]?.contains(service) != true {
                names[parts[0], default: []].append(service)
            }
        }
        self.names = names
        clients = try Dictionary(
            uniqueKeysWithValues: Set(names.values.joined()).map { ($0, try peers.client($0)) }
        )
    }

    func of(_ type: String) -> [String] { names[type] ?? [] }

    private static func trimmed(_ text: Substring) -> String {
        String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }

    private static func isName(_ text: String) -> Bool {
        let alphabet = UInt8(ascii: "a")...UInt8(ascii: "z")
        return !text.isEmpty && text.utf8.allSatisfy { alphabet.contains($0) || "._".utf8.contains($0) }
    }
}
