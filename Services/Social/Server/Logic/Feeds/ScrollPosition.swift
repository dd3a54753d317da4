import Crypto
import Foundation
import SocialAPI
import Wire

/// Where a scroll over several networks is; what its cursor holds.
struct ScrollPosition: Codable, Hashable, Sendable {
    /// By network; one that is missing was not there when the scroll began, and is read from its newest page on.
    var positions: [Network: SourcePosition] = [:]

    private enum CodingKeys: String, CodingKey { case positions = "p" }
}

/// A network's part of a scroll: a page of the network's own, and how far it was given.
///
/// The rest of a page is not carried along: the page is kept for a while, or asked for once more and read on from the
/// item that was given last. So what was posted meanwhile comes before that item and is not mistaken for older ones.
struct SourcePosition: Codable, Hashable, Sendable {
    /// The network's cursor of the page; nil is its newest.
    var page: NetworkCursor?
    /// The native id of the item of the page that was given last; nil where none was yet.
    var last: String?
    /// The time of what was given last, in milliseconds since 1970: where to read on should that item be gone.
    var mark: Int64?
    /// The native ids of what was given with that very time.
    var marked: [String] = []
    /// Whether the page was read in this scroll, and so may be read on from what was kept of it.
    var isRead = false
    /// What was given last, so that a copy that comes later is known, and what moved to the next page when something was
    /// posted.
    var recent = RecentItems()
    /// How often its page was empty and led to itself, which may be a bad moment of the network's.
    var repeatedEmptyPages = 0
    /// There is no more.
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

    /// Takes note of an item that is given.
    mutating func emit(_ item: Item, at time: Int64) {
        if mark != time { marked = [] }
        (last, mark) = (item.id.native, time)
        // A network with so many at one moment is not read on by time.
        if marked.count < 16 { marked.append(item.id.native) }
    }

    /// What of its page was not given yet.
    func rest(of items: [NetworkItem]) -> ArraySlice<NetworkItem> {
        guard let last else { return items[...] }
        if let index = items.lastIndex(where: { $0.item.id.native == last }) { return items[(index + 1)...] }
        guard let mark else { return items[...] }
        return items.filter { $0.item.time <= mark && !marked.contains($0.item.id.native) }[...]
    }
}

/// The last items of a network in a scroll, each by a few bytes of a hash: enough to know one again, and too little to say what it is.
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

    /// What an item is known again by.
    static func hash(_ key: String) -> Data { Data(SHA256.hash(data: Data(key.utf8))).prefix(width) }

    init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let bytes = Base64URL.decode(text), bytes.count % Self.width == 0 else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no hashes"))
        }
        hashes = stride(from: 0, to: bytes.count, by: Self.width).map { Data(bytes[$0..<($0 + Self.width)]) }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Base64URL.encode(hashes.reduce(into: Data()) { $0 += $1 }))
    }
}

extension Item {
    /// Milliseconds since 1970, by which lists are ordered.
    var time: Int64 { Int64((createdAt.timeIntervalSince1970 * 1_000).rounded(.down)) }
}
