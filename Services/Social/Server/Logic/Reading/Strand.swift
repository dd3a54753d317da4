import Foundation
import SocialAPI

/// One network's list while a page is woven of several.
struct Strand: Sendable {
    var source: Source
    /// As the cursor will have it.
    private(set) var place: ScrollPlace
    /// What was read and not given yet, the newest first.
    private var buffer: ArraySlice<NetworkItem> = []
    private var next: NetworkCursor?
    /// What went wrong; it is not asked again for this page.
    var failure: NetworkError?
    /// How much of its time has gone.
    var spent: Duration = .zero
    /// How many pages in a row had nothing on them that was not given before.
    private(set) var barren = 0

    init(_ source: Source, at place: ScrollPlace?) {
        self.source = source
        self.place = place ?? ScrollPlace()
    }

    /// The time of its newest item; never later than that of one given before, as a network's own order counts.
    var time: Int64? {
        buffer.first.map { item in min(item.item.time, place.mark ?? .max) }
    }

    /// Whether it has to be asked before it is known what it has next.
    var isHungry: Bool { failure == nil && !place.isOver && buffer.isEmpty }

    /// Whether there is, or may be, more in it.
    var hasMore: Bool { !place.isOver }

    /// Whether the page that is to be asked for was read in this scroll before.
    var knowsPage: Bool { place.isRead }

    /// The page that is to be asked for.
    var wanted: NetworkCursor? { place.page }

    /// So often an empty page that leads to itself is asked for again.
    private static let maximumVoids = 16

    mutating func take(_ page: NetworkPage) {
        defer { barren = buffer.isEmpty ? barren + 1 : 0 }
        guard !page.items.isEmpty || page.next == nil || page.next != place.page else {
            place.voids += 1
            place.isOver = place.voids > Self.maximumVoids
            return
        }
        place.voids = 0
        (buffer, next, place.isRead) = (place.rest(of: page.items), page.next, true)
        settle()
    }

    /// Gives its newest item.
    mutating func give() -> NetworkItem? {
        guard let time, let item = buffer.popFirst() else { return nil }
        place.give(item.item, at: time)
        settle()
        return item
    }

    /// Takes note of a post that was given, by what all of its copies have in common.
    mutating func remember(_ hash: Data) { place.recent.insert(hash) }

    /// Goes on to the next page where this one is used up.
    private mutating func settle() {
        guard place.isRead, buffer.isEmpty else { return }
        // One that leads to itself leads nowhere.
        guard let next, next != place.page else {
            place.isOver = true
            return
        }
        (place.page, place.last, place.isRead) = (next, nil, false)
        self.next = nil
    }
}
