package import Foundation

/// A row that a worker could not decode or process, as `roost admin set-aside` shows it.
package struct SetAsideRow: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "rows"

    package var id: Int64
    /// The worker's kind of row, such as `fanout`.
    package var kind: String
    /// The values of the primary key.
    package var key: [String]
    /// `unreadable` or `failing`.
    package var reason: String
    package var detail: String
    package var attempts: Int
    package var firstFailedAt: Date
    package var lastFailedAt: Date
    /// The time of the next retry; nil if the row is set aside.
    package var retryAt: Date?
    /// The row's columns, if a single row is shown and still exists.
    package var content: JSONValue?

    package init(
        id: Int64,
        kind: String,
        key: [String],
        reason: String,
        detail: String,
        attempts: Int,
        firstFailedAt: Date,
        lastFailedAt: Date,
        retryAt: Date?,
        content: JSONValue? = nil
    ) {
        self.id = id
        self.kind = kind
        self.key = key
        self.reason = reason
        self.detail = detail
        self.attempts = attempts
        self.firstFailedAt = firstFailedAt
        self.lastFailedAt = lastFailedAt
        self.retryAt = retryAt
        self.content = content
    }
}

/// The rows to retry or drop: those with these ids, or all rows of a kind that are set aside, or all that are set
/// aside.
package struct SetAsideSelection: Codable, Hashable, Sendable {
    package var ids: [Int64]?
    package var kind: String?
    package var all: Bool?

    package init(ids: [Int64]? = nil, kind: String? = nil, all: Bool? = nil) {
        self.ids = ids
        self.kind = kind
        self.all = all
    }
}

package struct SetAsideChange: Codable, Hashable, Sendable {
    package var count: Int

    package init(count: Int) { self.count = count }
}
