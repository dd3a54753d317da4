/// What `DELETE /auth/me` asks for; the body may be left out within five minutes of the sign-in.
package struct AccountDeletion: Codable, Hashable, Sendable {
    package var password: String?

    package init(password: String? = nil) {
        self.password = password
    }
}
