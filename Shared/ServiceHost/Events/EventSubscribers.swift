package import Configuration
import ServiceClient

/// Who is told of what: a setting, so that the code of a service knows only those it calls.
package struct EventSubscribers: Sendable {
    /// The names of the services that are told of each type.
    private let names: [String: [String]]
    /// How each is reached.
    let clients: [String: ServiceClient]

    /// Nobody.
    package static let none = EventSubscribers(names: [:], clients: [:])

    private init(names: [String: [String]], clients: [String: ServiceClient]) {
        self.names = names
        self.clients = clients
    }

    /// Reads `EVENT_SUBSCRIBERS` (none): `type=service`, comma-separated, `type=one+other` where several are told.
    ///
    /// Each is told at its address (`PUSH_URL` and its like). What is not of `types`, this service's own, is left to the
    /// services whose it is.
    package init(_ configuration: ConfigReader, types: Set<String>, peers: PeerServices) throws {
        var names: [String: [String]] = [:]
        let setting = configuration.text("EVENT_SUBSCRIBERS")
        for entry in setting?.split(separator: ",", omittingEmptySubsequences: false) ?? [] {
            let parts = entry.split(separator: "=", omittingEmptySubsequences: false).map(Self.trimmed)
            let services = parts.last?.split(separator: "+", omittingEmptySubsequences: false).map(Self.trimmed) ?? []
            guard parts.count == 2, Self.isName(parts[0]), services.allSatisfy(Self.isName) else {
                throw SettingError("EVENT_SUBSCRIBERS", "has \"\(entry)\"; an entry is like device.registered=push")
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
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
        return !text.isEmpty && text.utf8.allSatisfy { letters.contains($0) || $0 == UInt8(ascii: ".") }
    }
}
