import ConversationsAPI
import Wire

/// The part of a history that a request selects: by time and page, or by `seq`.
struct HistoryQuery: Decodable, Sendable {
    var count: Int64?
    var page: Int64?
    var before: Moment?
    var beforeSeq: Int64?
    var afterSeq: Int64?

    /// The range of counters on the wire, which is below 2^53.
    static let counters: ClosedRange<Int64> = 0...(1 << 53) - 1

    func span() throws -> HistorySpan {
        var span = HistorySpan()
        span.count = Int(try Self.number(count, "count", in: 1...100) ?? 20)
        span.beforeSeq = try Self.number(beforeSeq, "beforeSeq", in: Self.counters)
        span.afterSeq = try Self.number(afterSeq, "afterSeq", in: Self.counters)
        let page = try Self.number(page, "page", in: 0...1_000_000)
        if beforeSeq != nil || afterSeq != nil {
            let other = beforeSeq != nil && afterSeq != nil ? "afterSeq" : nil
            guard let extra = before != nil ? "before" : page != nil ? "page" : other else { return span }
            throw APIError.invalid(
                extra,
                "select a history either by time (before, page) or by sequence (beforeSeq or afterSeq)",
                code: "conflicting_parameters"
            )
        }
        span.page = Int(page ?? 0)
        span.before = before?.date
        return span
    }

    static func number(_ number: Int64?, _ name: String, in range: ClosedRange<Int64>) throws -> Int64? {
        guard let number else { return nil }
        guard range.contains(number) else {
            throw APIError.invalid(
                name,
                "\"\(name)\" must be a whole number from \(range.lowerBound) to \(range.upperBound)"
            )
        }
        return number
    }
}
