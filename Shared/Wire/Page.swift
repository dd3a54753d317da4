/// An element of lists, with the name of the list's field in JSON.
package protocol PageItem: Sendable {
    /// The field's name: `conversations`, `users`, ….
    static var pluralName: String { get }
}

/// A page of a list: `{<items>: [...], next?}`.
package struct Page<Item: PageItem>: Sendable {
    package var items: [Item]
    /// The cursor of the next page; nil on the last page.
    package var next: String?

    package init(_ items: [Item], next: String? = nil) {
        self.items = items
        self.next = next
    }
}

extension Page {
    private struct Key: CodingKey {
        static var items: Key { Key(stringValue: Item.pluralName) }
        static var next: Key { Key(stringValue: "next") }

        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

extension Page: Encodable where Item: Encodable {
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(items, forKey: .items)
        try container.encodeIfPresent(next, forKey: .next)
    }
}

extension Page: Decodable where Item: Decodable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        items = try container.decode([Item].self, forKey: .items)
        next = try container.decodeIfPresent(String.self, forKey: .next)
    }
}
