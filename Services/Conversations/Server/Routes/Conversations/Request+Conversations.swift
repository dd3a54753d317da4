import ConversationsAPI
import Foundation
import Hummingbird
import ServiceHost
import Wire

extension UserContext {
    /// Returns the conversation's token from the path; throws `notFound` for text that cannot be a token.
    func conversation() throws -> ConversationToken {
        guard let token = ConversationToken(try path("token")) else { throw Conversations.notFound }
        return token
    }

    /// Returns the message's id from the path; throws `notFound` for a number outside 1..<2^53.
    func message() throws -> Message.ID {
        guard let id = Int64(try path("id")), id > 0, id < 1 << 53 else {
            throw Messages.notFound
        }
        return Message.ID(id)
    }
}

extension Request {
    /// The range of counters on the wire, which is below 2^53.
    static let counters = HistoryQuery.counters

    /// Returns the part of a history that the query selects.
    func historySpan() throws -> HistorySpan {
        var query = HistoryQuery()
        query.count = try number("count", in: 1...100)
        query.page = try number("page", in: 0...1_000_000)
        query.before = try moment("before")
        query.beforeSeq = try number("beforeSeq", in: Self.counters)
        query.afterSeq = try number("afterSeq", in: Self.counters)
        return try query.span()
    }

    private func moment(_ name: String) throws -> Moment? {
        guard let text = try query(name) else { return nil }
        // An unescaped plus sign of a time zone arrives as a space.
        guard let moment = Moment(text: text.replacingOccurrences(of: " ", with: "+")) else {
            throw APIError.invalid(name, "\"\(name)\" must be seconds since 1970 or an RFC 3339 time")
        }
        return moment
    }
}
