import ConversationsAPI
import Foundation
import Wire

/// A range of successive messages in a conversation, whose words share a head in the index.
struct SearchRange: Sendable {
    /// The number of messages in a range.
    private static let length: Int64 = 4_096

    let conversation: Conversation.ID
    let number: Int64
    let firstAt: Date
    let lastAt: Date

    static func number(of seq: Int64) -> Int64 { seq / length }

    /// Returns the prefix of all words of a message.
    static func head(_ conversation: Conversation.ID, _ number: Int64) -> String {
        "\(String(conversation.rawValue, radix: 36)).\(String(number, radix: 36))."
    }

    /// Returns texts of `tsquery`s that together find the messages with all terms in any of the ranges.
    ///
    /// Each has few ranges, because the index compares every word of a query with every other.
    static func queries(_ terms: [SearchWords.Term], in ranges: some Collection<SearchRange>) -> [String] {
        let heads = ranges.map { head($0.conversation, $0.number) }
        return stride(from: 0, to: heads.count, by: rangesPerQuery).map { start in
            let some = heads[start..<min(start + rangesPerQuery, heads.count)]
            return terms.map { term in
                "(" + some.map { "'\($0)\(term.word)'\(term.isPrefix ? ":*" : "")" }.joined(separator: "|") + ")"
            }
            .joined(separator: "&")
        }
    }

    private static let rangesPerQuery = 8
}

/// The position of a message among all searched messages; newer messages are greater.
struct SearchHit: Codable, Hashable, Sendable, Comparable {
    let at: Date
    let conversation: Conversation.ID
    let seq: Int64

    static func < (one: SearchHit, other: SearchHit) -> Bool {
        (one.at, one.conversation.rawValue, one.seq) < (other.at, other.conversation.rawValue, other.seq)
    }
}
