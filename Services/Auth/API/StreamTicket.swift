/// The body of `POST /auth/tickets`; it may be absent.
package struct StreamTicketDraft: Codable, Hashable, Sendable {
    /// The path of the streams that the ticket opens, including the streams below it.
    ///
    /// Absent: all streams of the user.
    package var path: String?

    package init(path: String? = nil) {
        self.path = path
    }
}

/// The response of `POST /auth/tickets`: the value for `?ticket=` in a stream's URL.
package struct IssuedStreamTicket: Codable, Hashable, Sendable {
    package var ticket: String
    /// Seconds until the ticket expires; a stream that is already open continues.
    package var expiresIn: Int

    package init(ticket: String, expiresIn: Int) {
        self.ticket = ticket
        self.expiresIn = expiresIn
    }
}
