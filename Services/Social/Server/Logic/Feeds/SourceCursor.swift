import Foundation
import SocialAPI

/// The position in one network's list while lists are merged into a page.
struct SourceCursor: Sendable {
    var source: Source
    private(set) var position: SourcePosition
    /// The items that were read and not emitted yet, newest first.
    private var buffer: ArraySlice<NetworkItem> = []
    private var next: NetworkCursor?
    /// The error of the network, which is then not requested again for this page.
    var failure: NetworkError?
    /// The time spent on requests for this page.
    var spent: Duration = .zero
    /// The number of consecutive pages without a new item.
    private(set) var emptyPages = 0

    init(_ source: Source, at position: SourcePosition?) {
        self.source = source
        self.position = position ?? SourcePosition()
    }

    /// The time of the next item, at most that of the item before it, because the network's own order takes precedence.
    var time: Int64? {
        buffer.first.map { item in min(item.item.time, position.mark ?? .max) }
    }

    /// Whether a page must be fetched before the next item is known.
    var needsPage: Bool { failure == nil && !position.isAtEnd && buffer.isEmpty }

    /// Whether the list has, or may have, more items.
    var hasMore: Bool { !position.isAtEnd }

    var hasReadPage: Bool { position.isRead }

    var pageCursor: NetworkCursor? { position.page }

    /// The maximum number of requests for an empty page whose next page is itself.
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

    /// Removes and returns the newest item.
    mutating func emit() -> NetworkItem? {
        guard let time, let item = buffer.popFirst() else { return nil }
        position.emit(item.item, at: time)
        advanceIfConsumed()
        return item
    }

    /// Records an emitted post by the key that all of its copies share.
    mutating func remember(_ hash: Data) { position.recent.insert(hash) }

    /// Moves on to the next page when this one is used up.
    private mutating func advanceIfConsumed() {
        guard position.isRead, buffer.isEmpty else { return }
        // A page whose next page is itself is the last one.
        guard let next, next != position.page else {
            position.isAtEnd = true
            return
        }
        (position.page, position.last, position.isRead) = (next, nil, false)
        self.next = nil
    }
}
