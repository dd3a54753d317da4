import Foundation
import SocialAPI

/// One network's list while a page is woven of several.
struct SourceCursor: Sendable {
    var source: Source
    /// As the cursor will have it.
    private(set) var position: SourcePosition
    /// What was read and not given yet, the newest first.
    private var buffer: ArraySlice<NetworkItem> = []
    private var next: NetworkCursor?
    /// What went wrong; it is not asked again for this page.
    var failure: NetworkError?
    /// How much of its time has gone.
    var spent: Duration = .zero
    /// How many pages in a row had nothing on them that was not given before.
    private(set) var emptyPages = 0

    init(_ source: Source, at position: SourcePosition?) {
        self.source = source
        self.position = position ?? SourcePosition()
    }

    /// The time of its newest item; never later than that of one given before, as a network's own order counts.
    var time: Int64? {
        buffer.first.map { item in min(item.item.time, position.mark ?? .max) }
    }

    /// Whether it has to be asked before it is known what it has next.
    var needsPage: Bool { failure == nil && !position.isAtEnd && buffer.isEmpty }

    /// Whether there is, or may be, more in it.
    var hasMore: Bool { !position.isAtEnd }

    /// Whether the page that is to be asked for was read in this scroll before.
    var hasReadPage: Bool { position.isRead }

    /// The page that is to be asked for.
    var pageCursor: NetworkCursor? { position.page }

    /// So often an empty page that leads to itself is asked for again.
    private static let maximumRepeatedEmptyPages = 16

    mutating func append(_ page: NetworkPage) {
        defer { emptyPages = buffer.isEmpty ? emptyPages + 1 : 0 }
        guard !page.items.isEmpty || page.next == nil || page.next != position.page else {
            position.repeatedEmptyPages += 1
            position.isAtEnd = position.repeatedEmptyPages > Self.maximumRepeatedEmptyPages
            return
        }
        position.repeatedEmptyPages = 0
        (buffer, next, position.isRead) = (position.rest(of: page.items), page.next, true)
        advanceIfConsumed()
    }

    /// Gives its newest item.
    mutating func emit() -> NetworkItem? {
        guard let time, let item = buffer.popFirst() else { return nil }
        position.emit(item.item, at: time)
        advanceIfConsumed()
        return item
    }

    /// Takes note of a post that was given, by what all of its copies have in common.
    mutating func remember(_ hash: Data) { position.recent.insert(hash) }

    /// Goes on to the next page where this one is used up.
    private mutating func advanceIfConsumed() {
        guard position.isRead, buffer.isEmpty else { return }
        // One that leads to itself leads nowhere.
        guard let next, next != position.page else {
            position.isAtEnd = true
            return
        }
        (position.page, position.last, position.isRead) = (next, nil, false)
        self.next = nil
    }
}
