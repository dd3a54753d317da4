import Foundation
import PhotosAPI
import Postgres
import Wire

/// A user, as photos stores them.
///
/// `ID` is a number that represents (application, user) in all tables except `people`. Clients see it only as the first
/// half of a `postId` and at the end of a media key.
struct Person: Hashable, Sendable {
    typealias ID = Wire.ID<Person, Int64>

    let id: ID
    let user: User.ID
    var fullName: String
    /// A path below `/media/`.
    var picture: String?

    func author(_ links: MediaLinks) -> Author {
        Author(userId: user.user, fullName: fullName, profilePicture: picture.map(links.url))
    }
}

extension Person {
    static let columns = "people.person_id, people.application_id, people.user_id, people.full_name, people.picture_url"

    init(row: PostgresRow) throws {
        self.init(
            id: try row.decode("person_id"),
            user: User.ID(application: try row.string("application_id"), user: try row.string("user_id")),
            fullName: try row.string("full_name"),
            picture: try row.optionalString("picture_url")
        )
    }
}

extension Author {
    init(row: PostgresRow, _ links: MediaLinks) throws {
        self.init(
            userId: try row.string("user_id"),
            fullName: try row.string("full_name"),
            profilePicture: try row.optionalString("picture_url").map(links.url)
        )
    }
}
