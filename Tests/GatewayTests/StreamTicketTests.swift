import Credentials
import Foundation
import TestSupport
import Testing
import Wire

@testable import GatewayServer

@Suite("Stream tickets at the gateway") struct StreamTicketTests {
    private static let user = User.ID(application: "5d0b3c8f1a6e47920c4d8e1f", user: "ana")
    private static let stream = "/photos/home/stream"

    private func perform(_ fixture: GatewayFixture, _ line: String, _ fields: String = "") async throws -> RawMessage {
        try await fixture.perform("\(line) HTTP/1.1\r\nhost: a\r\n\(fields)\r\n")
    }

    @Test("A ticket opens a stream and is forwarded to the service")
    func opening() async throws {
        try await withGateway { fixture in
            let ticket = try await fixture.keys.ticket(for: Self.user)
            let target = "\(Self.stream)?ticket=\(ticket)&lastEventId=7-a"
            let response = try await perform(fixture, "GET \(target)", "origin: https://app.example\r\n")
            #expect(response.status == 200)
            #expect(fixture.forwarded(response).target == target)
            #expect(response["access-control-allow-origin"] == ["*"])
        }
    }

    @Test("The gateway rejects an invalid ticket")
    func rejections() async throws {
        try await withGateway { fixture in
            let keys = fixture.keys
            let good = try await keys.ticket(for: Self.user)
            let ended = try await keys.ticket(for: Self.user, session: "s1")
            keys.revoke("s1")
            try await fixture.verifier.load()
            let bad = [
                (fixture.token, "invalid_token"), ("x", "invalid_token"), ("", "invalid_token"),
                ("\(good)&ticket=\(good)", "invalid_token"),
                (try await TestKeys().ticket(for: Self.user), "invalid_token"),
                (try await keys.ticket(for: Self.user, type: AccessToken.type), "invalid_token"),
                (try await keys.ticket(for: Self.user, issued: Date() - 61), "token_expired"),
                (try await keys.ticket(for: Self.user, path: "/stream"), "ticket_path_mismatch"),
                (ended, "session_ended"),
            ]
            for (ticket, code) in bad {
                let response = try await perform(fixture, "GET \(Self.stream)?ticket=\(ticket)")
                #expect(response.status == 403, "\(ticket)")
                #expect(response.code == code, "\(ticket)")
            }
            let both = try await fixture.get("\(Self.stream)?ticket=\(good)")
            #expect(both.status == 403)
            #expect(both.code == "invalid_token")
            #expect(fixture.service.requests.isEmpty)
        }
    }

    @Test("Other routes do not accept a ticket as a credential")
    func otherRoutes() async throws {
        try await withGateway { fixture in
            let ticket = try await fixture.keys.ticket(for: Self.user)
            let query = try await perform(fixture, "GET /auth/me?ticket=\(ticket)")
            #expect(query.status == 403)
            #expect(query.code == "authentication_required")
            let bearer = try await perform(fixture, "GET /auth/me", "authorization: Bearer \(ticket)\r\n")
            #expect(bearer.status == 403)
            let stream = try await perform(fixture, "GET \(Self.stream)", "authorization: Bearer \(ticket)\r\n")
            #expect(stream.status == 403)
            #expect(fixture.service.requests.isEmpty)
        }
    }

    @Test("Only streams receive a ticket")
    func removal() async throws {
        try await withGateway { fixture in
            let ticket = try await fixture.keys.ticket(for: Self.user)
            let targets = [
                ("/conversations?ticket=\(ticket)", "/conversations"),
                ("/conversations?limit=5&ticket=\(ticket)&cursor=y", "/conversations?limit=5&cursor=y"),
                ("/conversations?ticket", "/conversations"),
                ("/conversations?ticketing=1&x=ticket=2", "/conversations?ticketing=1&x=ticket=2"),
                ("/conversations?", "/conversations?"), ("/conversations", "/conversations"),
            ]
            for (sent, received) in targets {
                #expect(fixture.forwarded(try await fixture.get(sent)).target == received)
            }
            let open = try await perform(fixture, "POST /auth/login?ticket=\(ticket)", "content-length: 0\r\n")
            #expect(fixture.forwarded(open).target == "/auth/login")
        }
    }
}
