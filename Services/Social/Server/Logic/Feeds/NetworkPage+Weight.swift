import SocialAPI
import Wire

extension NetworkPage {
    /// The approximate size in memory, in bytes.
    ///
    /// Networks do not limit texts, and any server can be a Mastodon network.
    var weight: Int {
        items.reduce(256 + (next?.weight ?? 0)) { $0 + $1.item.weight + ($1.original?.utf8.count ?? 0) }
    }
}

extension NetworkCursor {
    // The error is ignored: a value that cannot be encoded cannot be part of a cursor either, so its page is never
    // read.
    fileprivate var weight: Int { (try? value.compact().count) ?? 0 }
}

extension Item {
    fileprivate var weight: Int {
        var weight = 512 + text.utf8.count + Self.weight(id.native, url, thread, location?.name)
        weight += author?.weight ?? 0
        weight += about?.weight ?? 0
        weight += media.reduce(0) { $0 + 128 + Self.weight($1.url, $1.thumbnailUrl, $1.alt) }
        weight += participants?.reduce(0) { $0 + $1.weight } ?? 0
        weight += copies?.reduce(0) { $0 + $1.weight } ?? 0
        return weight
    }

    fileprivate static func weight(_ texts: String?...) -> Int { texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) } }
}

extension ItemAuthor {
    fileprivate var weight: Int { 80 + Item.weight(id, name, username, avatarUrl, url) }
}

extension ItemReference {
    fileprivate var weight: Int { 128 + Item.weight(id.native, url, text) + (author?.weight ?? 0) }
}
