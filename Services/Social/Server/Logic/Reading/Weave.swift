import Foundation
import SocialAPI

/// Makes one list of several: the newest first, each post once.
///
/// An item is given only when every network that has more was read at least as far back, so that nothing comes too late;
/// a network that fails is left out and stays where it is, and is read on from there once it answers.
struct Weave: Sendable {
    private(set) var items: [Item] = []
    private(set) var strands: [Strand]
    /// Where each post of this page is, so that copies are told of with it.
    private var indices: [String: Int] = [:]
    private let limit: Int

    init(_ strands: [Strand], limit: Int) {
        self.strands = strands
        self.limit = limit
    }

    /// The strands that must be asked before the page goes on; none: it is done.
    var hungry: [Int] {
        items.count >= limit ? [] : strands.indices.filter { strands[$0].isHungry }
    }

    var position: ScrollPosition {
        ScrollPosition(places: Dictionary(uniqueKeysWithValues: strands.map { ($0.source.network, $0.place) }))
    }

    mutating func change(_ index: Int, _ body: (inout Strand) -> Void) { body(&strands[index]) }

    /// Gives as much as can be given without asking.
    mutating func advance() {
        while items.count < limit, !strands.contains(where: \.isHungry), let index = newest,
            let item = strands[index].give()
        {
            add(item, from: index)
        }
    }

    /// The strand whose next item is the newest; the first of several.
    private var newest: Int? {
        var found: (index: Int, time: Int64)?
        for (index, strand) in strands.enumerated() {
            guard let time = strand.time, time > found?.time ?? .min else { continue }
            found = (index, time)
        }
        return found?.index
    }

    private mutating func add(_ item: NetworkItem, from strand: Int) {
        let key = item.original ?? item.item.id.description
        let hash = RecentItems.hash(key)
        if let index = indices[key] {
            let copy = ItemReference(id: item.item.id, url: item.item.url, author: item.item.author)
            guard items[index].id != item.item.id else { return }
            items[index].copies = (items[index].copies ?? []) + [copy]
        } else if !strands.contains(where: { $0.place.recent.contains(hash) }) {
            indices[key] = items.count
            items.append(item.item)
            strands[strand].remember(hash)
        }
    }
}
