import ConversationsAPI
import Foundation
import Wire

/// Some places of a conversation in a row, whose words share a head in the index.
struct SearchRange: Sendable {
    /// How many places.
    private static let length: Int64 = 4_096

    let conversation: Conversation.ID
    let number: Int64
    let firstAt: Date
    let lastAt: Date

    static func number(of seq: Int64) -> Int64 { seq / length }

    /// What the words of a message begin with.
    static func head(_ conversation: Conversation.ID, _ number: Int64) -> String {
        "\(String(conversation.rawValue, radix: 36)).\(String(number, radix: 36))."
    }

    /// Texts of `tsquery`s which together find what has all terms in any of the ranges.
    ///
    /// Few to each: the index weighs every word of a query against every other.
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

/// Where a message stands among all that are searched: newest first.
struct SearchHit: Codable, Hashable, Sendable, Comparable {
    let at: Date
    let conversation: Conversation.ID
    let seq: Int64

    static func < (one: SearchHit, other: SearchHit) -> Bool {
        (one.at, one.conversation.rawValue, one.seq) < (other.at, other.conversation.rawValue, other.seq)
    }
}
