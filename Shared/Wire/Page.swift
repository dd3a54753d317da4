/// A thing that lists are made of, with the name a list has on the wire.
package protocol Listed: Sendable {
    /// `conversations`, `users`, …
    static var pluralName: String { get }
}

/// One page of a list: `{<things>: [...], next?}`.
package struct Page<Thing: Listed>: Sendable {
    package var things: [Thing]
    /// The cursor of the page after this one; absent at the end.
    package var next: String?

    package init(_ things: [Thing], next: String? = nil) {
        self.things = things
        self.next = next
    }
}

extension Page {
    private struct Key: CodingKey {
        static var things: Key { Key(stringValue: Thing.pluralName) }
        static var next: Key { Key(stringValue: "next") }

        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

extension Page: Encodable where Thing: Encodable {
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(things, forKey: .things)
        try container.encodeIfPresent(next, forKey: .next)
    }
}

extension Page: Decodable where Thing: Decodable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        things = try container.decode([Thing].self, forKey: .things)
        next = try container.decodeIfPresent(String.self, forKey: .next)
    }
}
