import Foundation
import PushAPI
import ServiceHost
import Wire

enum Audience: Hashable, Sendable {
    case people([NotificationRequest.Recipient])
    /// At most 1,000, by the clients' own device ids.
    case devices([String])
    case topic(String)
    /// The users who have the broadcaster, a case-folded name, as a favourite.
    case favourites(of: String)

    var typeName: String {
        switch self {
        case .people: "people"
        case .devices: "devices"
        case .topic: "topic"
        case .favourites: "favourites"
        }
    }

    func encoded() throws -> String {
        switch self {
        case .people(let people): try Self.json(people)
        case .devices(let ids): try Self.json(ids)
        case .topic(let topic): topic
        case .favourites(let broadcaster): broadcaster
        }
    }

    init(typeName: String, encoded: String) throws {
        switch typeName {
        case "people": self = .people(try Self.value(encoded))
        case "devices": self = .devices(try Self.value(encoded))
        case "topic": self = .topic(encoded)
        case "favourites": self = .favourites(of: encoded)
        default: throw UnreadableRow("fanouts", "audience is unknown")
        }
    }

    private static func json(_ value: some Encodable) throws -> String {
        String(decoding: try WireJSON.encoder().encode(value), as: UTF8.self)
    }

    private static func value<Value: Decodable>(_ json: String) throws -> Value {
        try WireJSON.decoder().decode(Value.self, from: Data(json.utf8))
    }
}
