import Credentials
import Foundation
import HTTPTypes
import PhotosAPI
import TestSupport
import Testing
import Wire

@Suite("Stream tickets in photos") struct StreamTicketTests {
    private static let home = "/photos/home/stream"

    @Test("A ticket in the query opens a stream without header fields")
    func opening() async throws {
        try await withPhotos { fixture in
            let post = try await fixture.post("Look!", by: fixture.ann)
            let ticket = try await fixture.auth.keys.ticket(for: fixture.eve.id)
            try await fixture.service.served { port in
                for path in [Self.home, "/photos/posts/stream", "/photos/posts/\(post.postId)/stream"] {
                    let name = try await EventStreamClient.with(port: port, "\(path)?ticket=\(ticket)", token: nil) {
                        await $0.event()?.name
                    }
                    #expect(name == "ready", "\(path)")
                }
            }
        }
    }

    @Test("A stream that was opened with a ticket ends with the session")
    func sessionEnd() async throws {
        try await withPhotos { fixture in
            let session = UUID().uuidString.lowercased()
            let ticket = try await fixture.auth.keys.ticket(for: fixture.eve.id, session: session)
            try await fixture.service.served { port in
                try await EventStreamClient.with(port: port, "\(Self.home)?ticket=\(ticket)", token: nil) { stream in
                    #expect(await stream.event()?.name == "ready")
                    fixture.auth.keys.revoke(session)
                    #expect(await stream.event() == nil)
                }
            }
            let again = try await fixture.service.send(.get, "\(Self.home)?ticket=\(ticket)")
            #expect(again.status == 403)
            #expect(again.problem?.code == "session_ended")
        }
    }

    @Test("A ticket is not a credential of any other route")
    func otherRoutes() async throws {
        try await withPhotos { fixture in
            let ticket = try await fixture.auth.keys.ticket(for: fixture.eve.id)
            let query = try await fixture.service.send(.get, "/photos/me?ticket=\(ticket)")
            #expect(query.status == 403)
            let bearer = try await fixture.service.send(.get, "/photos/me", token: ticket)
            #expect(bearer.status == 403)
            let stream = try await fixture.service.send(.get, Self.home, token: ticket)
            #expect(stream.status == 403)
        }
    }

    @Test("Any other token or text is rejected as a ticket")
    func notTickets() async throws {
        try await withPhotos { fixture in
            let keys = fixture.auth.keys
            let good = try await keys.ticket(for: fixture.eve.id)
            let bad = [
                ("an access token", fixture.eve.token),
                ("an access token's type", try await keys.ticket(for: fixture.eve.id, type: AccessToken.type)),
                (
                    "an access token's audience",
                    try await keys.ticket(for: fixture.eve.id) { $0.aud = AccessToken.audience }
                ),
                ("another issuer", try await keys.ticket(for: fixture.eve.id) { $0.iss = "http://elsewhere" }),
                ("another key", try await TestKeys(kid: "other").ticket(for: fixture.eve.id)),
                ("another key of the same name", try await TestKeys().ticket(for: fixture.eve.id)),
                ("a longer life", try await keys.ticket(for: fixture.eve.id) { $0.exp += 1 }),
                ("the future", try await keys.ticket(for: fixture.eve.id, issued: Date() + 30)),
                ("no session", try await keys.ticket(for: fixture.eve.id, session: "")),
                ("words", "ticket"), ("two", "\(good)&ticket=\(good)"),
            ]
            for (what, ticket) in bad {
                let response = try await fixture.service.send(.get, "\(Self.home)?ticket=\(ticket)")
                #expect(response.status == 403, "\(what): \(response.text)")
                #expect(response.problem?.code == "invalid_token", "\(what): \(response.text)")
            }
            let both = try await fixture.eve.ask(.get, "\(Self.home)?ticket=\(good)")
            #expect(both.status == 403)
            #expect(both.problem?.code == "invalid_token")
        }
    }

    @Test("An expired ticket is rejected with its own error code")
    func expired() async throws {
        try await withPhotos { fixture in
            let ticket = try await fixture.auth.keys.ticket(for: fixture.eve.id, issued: Date() - 61)
            let response = try await fixture.service.send(.get, "\(Self.home)?ticket=\(ticket)")
            #expect(response.status == 403)
            #expect(response.problem?.code == "token_expired")
        }
    }

    @Test("A ticket that is bound to a path opens only that path and those below")
    func paths() async throws {
        try await withPhotos { fixture in
            let good = ["/photos", "/photos/", "/photos/home", "/photos/home/stream", "/"]
            try await fixture.service.served { port in
                for path in good {
                    let ticket = try await fixture.auth.keys.ticket(for: fixture.eve.id, path: path)
                    let status = try await EventStreamClient.with(
                        port: port,
                        "\(Self.home)?ticket=\(ticket)",
                        token: nil
                    ) { $0.status }
                    #expect(status == 200, "\(path)")
                }
            }
            for path in ["/photos/posts", "/photos/home/stre", "/stream", "/photos/home/stream/more"] {
                let ticket = try await fixture.auth.keys.ticket(for: fixture.eve.id, path: path)
                let response = try await fixture.service.send(.get, "\(Self.home)?ticket=\(ticket)")
                #expect(response.status == 403, "\(path)")
                #expect(response.problem?.code == "ticket_path_mismatch", "\(path)")
            }
        }
    }
}
