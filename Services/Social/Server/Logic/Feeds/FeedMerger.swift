import Foundation
import SocialAPI

/// Merges the lists of several networks into one page, newest first, each post once.
///
/// An item is emitted only after every network with more items was read at least as far back, so no item comes too
/// late. A network that fails is left out; the next page continues at its old position.
struct FeedMerger: Sendable {
    private(set) var items: [Item] = []
    private(set) var sourceCursors: [SourceCursor]
    /// The index of each post on this page by its key, so that copies are added to it.
    private var indices: [String: Int] = [:]
    private let limit: Int

    init(_ sourceCursors: [SourceCursor], limit: Int) {
        self.sourceCursors = sourceCursors
        self.limit = limit
    }

    /// The indices of the source cursors that must fetch a page before the merge continues; empty when the page is
    /// done.
    var indicesNeedingPage: [Int] {
        items.count >= limit ? [] : sourceCursors.indices.filter { sourceCursors[$0].needsPage }
    }

    var position: ScrollPosition {
        ScrollPosition(
            positions: Dictionary(uniqueKeysWithValues: sourceCursors.map { ($0.source.network, $0.position) })
        )
    }

    mutating func update(_ index: Int, _ body: (inout SourceCursor) -> Void) { body(&sourceCursors[index]) }

    /// Emits all items that need no further page.
    mutating func emitReady() {
        while items.count < limit, !sourceCursors.contains(where: \.needsPage), let index = newest,
            let item = sourceCursors[index].emit()
        {
            add(item, from: index)
        }
    }

    /// The index of the source cursor with the newest item; the first of several.
    private var newest: Int? {
        var found: (index: Int, time: Int64)?
        for (index, sourceCursor) in sourceCursors.enumerated() {
            guard let time = sourceCursor.time, time > found?.time ?? .min else { continue }
            found = (index, time)
        }
        return found?.index
    }

    private mutating func add(_ item: NetworkItem, from sourceCursor: Int) {
        let key = item.original ?? item.item.id.description
        let hash = RecentItems.hash(key)
        if let index = indices[key] {
            let copy = ItemReference(id: item.item.id, url: item.item.url, author: item.item.author)
            guard items[index].id != item.item.id else { return }
            items[index].copies = (items[index].copies ?? []) + [copy]
        } else if !sourceCursors.contains(where: { $0.position.recent.contains(hash) }) {
            indices[key] = items.count
            items.append(item.item)
            sourceCursors[sourceCursor].remember(hash)
        }
    }
}
