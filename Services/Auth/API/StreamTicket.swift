/// The body of `POST /auth/tickets`; it may be absent.
package struct StreamTicketDraft: Codable, Hashable, Sendable {
    /// The path of the streams that the ticket opens, and of those below; absent: all streams of the user.
    package var path: String?

    package init(path: String? = nil) {
        self.path = path
    }
}

/// The response of `POST /auth/tickets`: what a stream URL accepts as `?ticket=`.
package struct IssuedStreamTicket: Codable, Hashable, Sendable {
    package var ticket: String
    /// Seconds until no stream can be opened with it; an open stream continues.
    package var expiresIn: Int

    package init(ticket: String, expiresIn: Int) {
        self.ticket = ticket
        self.expiresIn = expiresIn
    }
}
