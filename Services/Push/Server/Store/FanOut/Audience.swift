import Foundation
import PushAPI
import ServiceHost
import Wire

/// Whom a notification is for.
enum Audience: Hashable, Sendable {
    /// At most 1,000.
    case people([NotificationRequest.Recipient])
    /// By the clients' own ids; at most 1,000.
    case devices([String])
    /// Who subscribes to it.
    case topic(String)
    /// Whose favourite this broadcaster is; folded.
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
