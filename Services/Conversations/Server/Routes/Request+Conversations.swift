import ConversationsAPI
import Foundation
import Hummingbird
import ServiceHost
import Wire

extension UserContext {
    /// The conversation that the path names; what can be nobody's token is not found.
    func conversation() throws -> ConversationToken {
        guard let token = ConversationToken(try path("token")) else { throw Conversations.notFound }
        return token
    }

    /// The message that the path names.
    func message() throws -> Message.ID {
        guard let id = Int64(try path("id")), id > 0, id < 1 << 53 else {
            throw Messages.notFound
        }
        return Message.ID(id)
    }
}

extension Request {
    /// What a number on the wire may be: below 2^53.
    static let counters: ClosedRange<Int64> = 0...(1 << 53) - 1

    /// Which part of a history the query asks for: by time and page, or by place.
    func historySpan() throws -> HistorySpan {
        var span = HistorySpan()
        span.count = try limit("count")
        span.beforeSeq = try number("beforeSeq", in: Self.counters)
        span.afterSeq = try number("afterSeq", in: Self.counters)
        let page = try number("page", in: 0...1_000_000)
        let before = try moment("before")
        if span.beforeSeq != nil || span.afterSeq != nil {
            let other = span.beforeSeq != nil && span.afterSeq != nil ? "afterSeq" : nil
            guard let extra = before != nil ? "before" : page != nil ? "page" : other else { return span }
            throw APIError.invalid(
                extra,
                "a history is asked for by time (before, page) or by place (beforeSeq or afterSeq)",
                code: "conflicting_parameters"
            )
        }
        span.page = page.map { Int($0) } ?? 0
        span.before = before?.date
        return span
    }

    private func moment(_ name: String) throws -> Moment? {
        guard let text = try query(name) else { return nil }
        // A plus of a time zone that was not escaped arrives as a space.
        guard let moment = Moment(text: text.replacingOccurrences(of: " ", with: "+")) else {
            throw APIError.invalid(name, "\"\(name)\" must be seconds since 1970 or an RFC 3339 time")
        }
        return moment
    }
}
