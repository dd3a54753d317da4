import Postgres

/// What others see change.
enum PhotoChange: String, Sendable {
    case new = "post.new"
    case changed = "post.changed"
    case deleted = "post.deleted"

    static func note(_ change: PhotoChange, post: PostKey, in db: PostgresTransaction) async throws {}
}
