import ConversationsAPI
import Postgres

/// The read marks of all members; empty when there are too many members to show them.
struct ReadMarks: Sendable {
    /// The columns of the row's `member_list`, in the order of the members.
    static let columns = "member_list.users, member_list.seqs, member_list.changes"

    private let users: [String]?
    private let seqs: [Int64]
    private let changes: [Int64]

    init(row: PostgresRow) throws {
        users = try row.decodeIfPresent("users")
        seqs = try row.decodeIfPresent("seqs") ?? []
        changes = try row.decodeIfPresent("changes") ?? []
    }

    func readers(of seq: Int64) -> [String]? {
        users.map { users in zip(users, seqs).compactMap { user, mark in mark >= seq ? user : nil } }
    }

    func moved(after change: Int64, upTo last: Int64) -> [Changes.ChangedReadMark]? {
        users.map { users in
            users.indices.compactMap { index in
                guard changes[index] > change, changes[index] <= last else { return nil }
                return Changes.ChangedReadMark(userId: users[index], seq: seqs[index], change: changes[index])
            }
        }
    }
}
