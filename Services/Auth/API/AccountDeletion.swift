/// The body of `DELETE /auth/me`; it may be absent within five minutes of the sign-in.
package struct AccountDeletion: Codable, Hashable, Sendable {
    package var password: String?

    package init(password: String? = nil) {
        self.password = password
    }
}
