import Foundation
import SocialAPI

/// Makes one list of several: the newest first, each post once.
///
/// An item is given only when every network that has more was read at least as far back, so that nothing comes too late;
/// a network that fails is left out and stays where it is, and is read on from there once it answers.
struct FeedMerger: Sendable {
    private(set) var items: [Item] = []
    private(set) var sourceCursors: [SourceCursor]
    /// Where each post of this page is, so that copies are told of with it.
    private var indices: [String: Int] = [:]
    private let limit: Int

    init(_ sourceCursors: [SourceCursor], limit: Int) {
        self.sourceCursors = sourceCursors
        self.limit = limit
    }

    /// The strands that must be asked before the page goes on; none: it is done.
    var indicesNeedingPage: [Int] {
        items.count >= limit ? [] : sourceCursors.indices.filter { sourceCursors[$0].needsPage }
    }

    var position: ScrollPosition {
        ScrollPosition(
            positions: Dictionary(uniqueKeysWithValues: sourceCursors.map { ($0.source.network, $0.position) })
        )
    }

    mutating func update(_ index: Int, _ body: (inout SourceCursor) -> Void) { body(&sourceCursors[index]) }

    /// Gives as much as can be given without asking.
    mutating func emitReady() {
        while items.count < limit, !sourceCursors.contains(where: \.needsPage), let index = newest,
            let item = sourceCursors[index].emit()
        {
            add(item, from: index)
        }
    }

    /// The strand whose next item is the newest; the first of several.
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
