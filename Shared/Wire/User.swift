/// A person who uses the suite.
///
/// What each service knows of one is that service's own.
package enum User {
    /// Who somebody is: the pair (application, user), everywhere.
    ///
    /// In Roost's own application `user` is a UUID in lower case; in a customer's it is the `sub` that its account
    /// server chose, any string of 1–255 characters.
    package struct ID: Hashable, Sendable, Codable {
        package let application: String
        package let user: String

        package init(application: String, user: String) {
            self.application = application
            self.user = user
        }
    }
}

/// The application that Roost's own accounts belong to.
package enum RoostApplication {
    package static let id = "roost"
}

extension User.ID {
    /// Whether the account is Roost's own, and not a customer's.
    package var isRoosts: Bool { application == RoostApplication.id }
}
