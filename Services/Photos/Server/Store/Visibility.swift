import Postgres
import Wire

/// The reader of content, which decides what is visible.
enum Viewer: Hashable, Sendable {
    /// A signed-in user, who sees what is neither hidden nor by a user with a block to or from them.
    case person(Person.ID)
    case moderator(application: String)
    case everything

    /// The person's id; 0, which is no person's id, for other viewers.
    var id: Person.ID {
        if case .person(let id) = self { id } else { Person.ID(0) }
    }
}

/// The SQL conditions of visibility, the same in every list.
///
/// They are evaluated on every read and not stored, so that a block or a hidden post takes effect when it is committed.
extension PostgresQuery.StringInterpolation {
    /// Appends the condition that a row of `posts`, by its alias, is visible to a viewer.
    ///
    /// A person sees posts of their own application that are not hidden and whose author has no block to or from them.
    /// They also see all their own posts.
    mutating func appendInterpolation(visible posts: String, to viewer: Viewer) {
        switch viewer {
        case .everything:
            appendLiteral("true")
        case .moderator(let application):
            appendLiteral("\(posts).application_id = ")
            appendInterpolation(application)
        case .person(let id):
            appendLiteral("(\(posts).author_id = ")
            appendInterpolation(id)
            appendLiteral(" OR \(posts).hidden_at IS NULL AND ")
            appendInterpolation(unblocked: "\(posts).author_id", by: viewer)
            appendLiteral(" AND \(posts).application_id = (SELECT application_id FROM people WHERE person_id = ")
            appendInterpolation(id)
            appendLiteral("))")
        }
    }

    mutating func appendInterpolation(visible posts: String, to viewer: Person.ID) {
        appendInterpolation(visible: posts, to: .person(viewer))
    }

    /// Appends the condition that no block exists, in either direction, between the viewer and the person in a column.
    mutating func appendInterpolation(unblocked person: String, by viewer: Viewer) {
        guard case .person(let id) = viewer else {
            appendLiteral("true")
            return
        }
        appendLiteral("NOT EXISTS (SELECT FROM blocks WHERE blocker_id = ")
        appendInterpolation(id)
        appendLiteral(" AND blocked_id = \(person)) AND NOT EXISTS (SELECT FROM blocks WHERE blocker_id = \(person)")
        appendLiteral(" AND blocked_id = ")
        appendInterpolation(id)
        appendLiteral(")")
    }

    mutating func appendInterpolation(unblocked person: String, by viewer: Person.ID) {
        appendInterpolation(unblocked: person, by: .person(viewer))
    }
}
