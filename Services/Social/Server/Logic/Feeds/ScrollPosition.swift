import Crypto
import Foundation
import SocialAPI
import Wire

/// The position of a scroll over several networks; the content of its cursor.
struct ScrollPosition: Codable, Hashable, Sendable {
    /// The positions by network.
    ///
    /// A missing network was added after the scroll began and is read from its newest page.
    var positions: [Network: SourcePosition] = [:]

    private enum CodingKeys: String, CodingKey { case positions = "p" }
}

/// The position in one network's list: a page of the network, and the last item emitted from it.
///
/// The rest of the page is not part of the cursor. It is cached, or requested again and read on after the last emitted
/// item. Items posted in the meantime come before that item and are not mistaken for older ones.
struct SourcePosition: Codable, Hashable, Sendable {
    /// The network's cursor of the page; nil is the newest page.
    var page: NetworkCursor?
    /// The native id of the page's item that was emitted last; nil if there is none yet.
    var last: String?
    /// The time of the last emitted item in milliseconds since 1970: where to continue if that item was deleted.
    var mark: Int64?
    /// The native ids of the emitted items with exactly that time.
    var marked: [String] = []
    /// Whether the page was read in this scroll, so that its cached copy may be used.
    var isRead = false
    /// The last emitted posts, to recognise later copies, and items that moved to the next page because of new posts.
    var recent = RecentItems()
    /// How often the page was empty and its next page was itself, which can be a temporary fault of the network.
    var repeatedEmptyPages = 0
    var isAtEnd = false

    private enum CodingKeys: String, CodingKey {
        case page = "c"
        case last = "l"
        case mark = "m"
        case marked = "i"
        case isRead = "b"
        case recent = "r"
        case repeatedEmptyPages = "v"
        case isAtEnd = "e"
    }

    mutating func emit(_ item: Item, at time: Int64) {
        if mark != time { marked = [] }
        (last, mark) = (item.id.native, time)
        // With more items at one time than this, continuing by time is not exact.
        if marked.count < 16 { marked.append(item.id.native) }
    }

    /// Returns the items of the page that were not emitted yet.
    func rest(of items: [NetworkItem]) -> ArraySlice<NetworkItem> {
        guard let last else { return items[...] }
        if let index = items.lastIndex(where: { $0.item.id.native == last }) { return items[(index + 1)...] }
        guard let mark else { return items[...] }
        return items.filter { $0.item.time <= mark && !marked.contains($0.item.id.native) }[...]
    }
}

/// The last items in a scroll, each as 5 bytes of a hash: enough to recognise an item, too little to reveal it.
struct RecentItems: Codable, Hashable, Sendable {
    private static let capacity = 40
    private static let width = 5

    private var hashes: [Data] = []

    init() {}

    func contains(_ hash: Data) -> Bool { hashes.contains(hash) }

    mutating func insert(_ hash: Data) {
        hashes.append(hash)
        if hashes.count > Self.capacity { hashes.removeFirst() }
    }

    /// Returns the hash by which an item is recognised.
    static func hash(_ key: String) -> Data { Data(SHA256.hash(data: Data(key.utf8))).prefix(width) }

    init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let bytes = Base64URL.decode(text), bytes.count % Self.width == 0 else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "not a list of hashes")
            )
        }
        hashes = stride(from: 0, to: bytes.count, by: Self.width).map { Data(bytes[$0..<($0 + Self.width)]) }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Base64URL.encode(hashes.reduce(into: Data()) { $0 += $1 }))
    }
}

extension Item {
    /// The time in milliseconds since 1970 by which lists are sorted.
    var time: Int64 { Int64((createdAt.timeIntervalSince1970 * 1_000).rounded(.down)) }
}
