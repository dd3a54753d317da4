package import Foundation

/// A fact that one service publishes and others process.
///
/// Its type is, for example, `device.registered` or `session.ended`. The content describes the new state, so processing
/// an event twice has no further effect.
package struct Event: Codable, Hashable, Sendable {
    package let id: UUID
    package let type: String
    package let at: Date
    /// The content, an `EventContent` of the event's type.
    package let content: JSONValue

    package init(id: UUID, type: String, at: Date, content: JSONValue) {
        self.id = id
        self.type = type
        self.at = at
        self.content = content
    }

    /// Decodes the content.
    ///
    /// - Throws: an error with status 400 that names the missing or malformed field.
    package func content<Content: EventContent>(as type: Content.Type = Content.self) throws -> Content {
        try WireJSON.decode(type, from: content)
    }
}

/// The content of one type of events.
package protocol EventContent: Codable, Sendable {
    /// The stable type, such as `device.registered`.
    static var type: String { get }

    /// The subject of the event; a subscriber receives events with the same key in the order of their insertion.
    var key: String { get }
}
