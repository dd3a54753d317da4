/// A user of the suite.
///
/// Each service stores its own data about a user.
package enum User {
    /// The identity of a user in all services: the pair (application, user).
    ///
    /// In Roost's own application, `user` is a UUID in lower case. In a customer's application, it is the `sub` that
    /// the customer's account server chose, a string of 1 to 255 characters.
    package struct ID: Sendable, Codable {
        package let application: String
        package let user: String

        package init(application: String, user: String) {
            self.application = application
            self.user = user
        }
    }
}

extension String {
    /// Returns whether two texts have the same scalars, as PostgreSQL compares them.
    ///
    /// The operator `==` treats "é" as one scalar and as two scalars as equal, but a customer may use both as ids of
    /// different users.
    ///
    /// - Parameter other: the other text.
    /// - Returns: whether the texts are identical.
    package func isExactly(_ other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}

extension User.ID: Hashable {
    package static func == (left: Self, right: Self) -> Bool {
        left.user.isExactly(right.user) && left.application.isExactly(right.application)
    }

    package func hash(into hasher: inout Hasher) {
        var (user, application) = (user, application)
        user.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0 as UInt8)
        application.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

/// The application of Roost's own accounts.
package enum RoostApplication {
    package static let id = "roost"
}

extension User.ID {
    /// Whether the account belongs to Roost's own application, not to a customer's.
    package var isRoostUser: Bool { application == RoostApplication.id }
}
