import Postgres
import Wire

/// Who reads, and so what he gets to see.
enum Viewer: Hashable, Sendable {
    /// Somebody signed in: what nobody has hidden, and nothing of those whom a block keeps apart from him.
    case person(Person.ID)
    /// Who looks after an application: everything in it.
    case moderator(application: String)
    /// The service itself, about what it has to do.
    case everything

    /// The person's id; 0, which is nobody's, for whoever is no person.
    var id: Person.ID {
        if case .person(let id) = self { id } else { Person.ID(0) }
    }
}

/// The conditions on which something is shown, the same in every list; they are read, never copied, so that a block or a
/// hidden post counts from the moment it is committed.
extension PostgresQuery.StringInterpolation {
    /// That a row of `posts`, by its alias, is to be seen: not hidden, unless it is the viewer's own, of nobody whom a
    /// block keeps apart from him, either way, and of his application.
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

    /// That no block keeps somebody, by the column that has his id, apart from the viewer.
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
