import AuthAPI
import Credentials
import Foundation
import HTTPTypes
import ServiceHost
import TestSupport
import Testing
import Wire

@testable import AuthServer

@Suite("Issuing stream tickets") struct StreamTicketTests {
    private func issue(_ auth: Auth, _ token: String, _ body: String? = nil) async throws -> TestHTTPResponse {
        try await auth.service.send(.post, "/auth/tickets", token: token, body: body)
    }

    /// The code of the error that a ticket is rejected with; nil for a valid one.
    private func rejection(_ auth: Auth, _ ticket: String, at path: String = "/stream") async throws -> String? {
        do {
            _ = try await auth.service.assembled.verifier.identify(ticket: ticket, for: path)
            return nil
        } catch let error as APIError {
            return error.code
        }
    }

    @Test("A signed-in user gets a ticket of the session, valid for a minute")
    func issuing() async throws {
        try await withAuth { auth in
            let ada = try await auth.administrator("ada")
            let answer = try await issue(auth, ada.jwt)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.headers[.cacheControl] == "no-store")
            let issued = try answer.decode(IssuedStreamTicket.self)
            #expect(issued.expiresIn == 60)

            let identity = try await auth.service.assembled.verifier.identify(ticket: issued.ticket, for: "/stream")
            #expect(identity.user == User.ID(application: RoostApplication.id, user: ada.userId))
            #expect(try await auth.currentSession(ada) == identity.session)
            #expect(!identity.isAdmin)
        }
    }

    @Test("A user of a customer's application gets a ticket too")
    func customers() async throws {
        try await withCustomer { acme in
            let session = try await acme.signIn("ada", device: "phone")
            let answer = try await acme.request(.post, "/auth/tickets", session: session)
            let issued = try answer.decode(IssuedStreamTicket.self)
            let verifier = acme.auth.service.assembled.verifier
            let identity = try await verifier.identify(ticket: issued.ticket, for: "/photos/home/stream")
            #expect(identity.user == User.ID(application: acme.id, user: "ada"))
            _ = try await acme.request(.post, "/auth/logout", session: session)
            #expect(try await rejection(acme.auth, issued.ticket) == "session_ended")
        }
    }

    @Test("A ticket ends after a minute, and with its session")
    func ends() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            let ada = try await auth.signUp("ada")
            let other = try await auth.signIn("ada")
            let ticket = try await issue(auth, ada.jwt).decode(IssuedStreamTicket.self).ticket
            _ = try await auth.service.send(.post, "/auth/logout", token: other.jwt)
            #expect(try await rejection(auth, ticket) == nil)
            _ = try await auth.service.send(.post, "/auth/logout", token: ada.jwt)
            #expect(try await rejection(auth, ticket) == "session_ended")

            let bo = try await auth.signUp("bo")
            let late = try await issue(auth, bo.jwt).decode(IssuedStreamTicket.self).ticket
            clock.advance(seconds: 59)
            #expect(try await rejection(auth, late) == nil)
            clock.advance(seconds: 1)
            #expect(try await rejection(auth, late) == "token_expired")
        }
    }

    @Test("No route of auth accepts a ticket")
    func noAccessToken() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let ticket = try await issue(auth, ada.jwt).decode(IssuedStreamTicket.self).ticket
            #expect(try await auth.me(ticket).status == 403)
            #expect(try await issue(auth, ticket).status == 403)
            #expect(try await auth.service.send(.get, "/auth/me?ticket=\(ticket)").status == 403)
            #expect(try await rejection(auth, ada.jwt) == "invalid_token")
            #expect(try await auth.service.send(.post, "/auth/tickets").status == 403)
        }
    }

    @Test("A ticket may be bound to a path")
    func paths() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let body = #"{"path": "/photos/posts/7-1/stream"}"#
            let ticket = try await issue(auth, ada.jwt, body).decode(IssuedStreamTicket.self).ticket
            #expect(try await rejection(auth, ticket, at: "/photos/posts/7-1/stream") == nil)
            #expect(try await rejection(auth, ticket, at: "/photos/posts/7-2/stream") == "ticket_path_mismatch")
            let long = "/" + String(repeating: "x", count: StreamTicket.maximumPath)
            for path in ["", "photos", "/a b", "/a?b", "/%41", "/ä", long] {
                let answer = try await issue(auth, ada.jwt, json(["path": .string(path)]))
                #expect(answer.status == 400, "\(path)")
                #expect(answer.problem?.code == "invalid_path", "\(path)")
                #expect(answer.problem?.field == "path", "\(path)")
            }
        }
    }
}
