/// A person who uses the suite.
///
/// What each service knows of one is that service's own.
package enum User {
    /// Who somebody is: the pair (application, user), everywhere.
    ///
    /// In Roost's own application `user` is a UUID in lower case; in a customer's it is the `sub` that its account
    /// server chose, any string of 1–255 characters.
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
    /// Whether the two are the same, scalar by scalar, as PostgreSQL compares them.
    ///
    /// To `==` "é" is the same in one scalar and in two, while a customer may have given the two to different people.
    package func isExactly(_ other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}

extension User.ID: Hashable {
    package static func == (one: Self, other: Self) -> Bool {
        one.user.isExactly(other.user) && one.application.isExactly(other.application)
    }

    package func hash(into hasher: inout Hasher) {
        var (user, application) = (user, application)
        user.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0 as UInt8)
        application.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

/// The application that Roost's own accounts belong to.
package enum RoostApplication {
    package static let id = "roost"
}

extension User.ID {
    /// Whether the account is Roost's own, and not a customer's.
    package var isRoostUser: Bool { application == RoostApplication.id }
}
