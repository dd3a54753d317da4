package import Foundation

/// What happened in one service and others act on.
///
/// Its type is `device.registered`, `session.ended`, and so on. It says only what is so since; who hears of it twice does nothing the second time.
package struct Event: Codable, Hashable, Sendable {
    package let id: UUID
    package let type: String
    package let at: Date
    /// What its type says there is: an `EventContent`.
    package let content: JSONValue

    package init(id: UUID, type: String, at: Date, content: JSONValue) {
        self.id = id
        self.type = type
        self.at = at
        self.content = content
    }

    /// What happened, in the words of its type.
    ///
    /// - Throws: a 400 that names the field which is missing or malformed.
    package func content<Content: EventContent>(as type: Content.Type = Content.self) throws -> Content {
        try WireJSON.decode(type, from: content)
    }
}

/// What an event of one type says.
package protocol EventContent: Codable, Sendable {
    /// `device.registered`, …; stable.
    static var type: String { get }

    /// Whom or what it is about: the events of one key reach a subscriber in the order they were written.
    var key: String { get }
}
