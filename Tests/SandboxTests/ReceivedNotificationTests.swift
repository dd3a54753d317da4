import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import SandboxServer
import Testing
import Wire

@Suite("Received notifications", .timeLimit(.minutes(1))) struct ReceivedNotificationTests {
    @Test("Notifications are listed in pages, oldest first")
    func pages() async throws {
        try await withSandbox { fixture in
            for _ in 0..<3 { _ = try await fixture.push() }

            let first = try await fixture.page("limit=2")
            let second = try await fixture.page("after=\(first.next)")
            let third = try await fixture.page("after=\(second.next)")

            #expect(first.notifications.map(\.number) == [1, 2])
            #expect(second.notifications.map(\.number) == [3])
            #expect(third.notifications.isEmpty)
            #expect(third.next == 3)
            #expect(try await fixture.send(.GET, fixture.sandbox.url + "/sandbox/notifications?limit=0").status == 400)
        }
    }

    @Test("A request can wait for the next notification")
    func longPoll() async throws {
        try await withSandbox { fixture in
            async let waiting = fixture.page("after=0&wait=30")
            _ = try await fixture.push()

            #expect(try await waiting.notifications.map(\.title) == ["Live"])
            #expect(try await fixture.page("after=1&wait=1").notifications.isEmpty)
        }
    }

    @Test("Only the newest notifications are kept, and all are counted")
    func retention() async throws {
        try await withSandbox {
            $0.retentionLimit = 2
        } test: { fixture in
            for _ in 0..<5 { _ = try await fixture.push() }

            #expect(try await fixture.page("after=1").notifications.map(\.number) == [4, 5])
            let counts = try await fixture.send(.GET, fixture.sandbox.url + "/sandbox/counts")
            #expect(try counts.decode(ReceivedNotifications.Counts.self).accepted == 5)
            #expect(try await fixture.control("/sandbox/notifications", "", .DELETE).status == 204)
            #expect(fixture.sandbox.received.counts.accepted == 0)
            #expect(fixture.sandbox.received.all().isEmpty)
        }
    }

    @Test("The event stream sends stored and new notifications")
    func eventStream() async throws {
        try await withSandbox { fixture in
            _ = try await fixture.push()
            var request = HTTPClientRequest(url: fixture.sandbox.url + "/sandbox/stream?after=0")
            request.headers.add(name: "accept", value: "text/event-stream")
            let response = try await fixture.http.execute(request, timeout: .seconds(20))
            #expect(response.headers.first(name: "content-type") == "text/event-stream")

            var text = ""
            for try await bytes in response.body {
                text += String(buffer: bytes)
                // The first notification is stored. The second is pushed when the first has been read.
                if text.contains("id: 1\n"), fixture.sandbox.received.last == 1 { _ = try await fixture.push() }
                if text.contains("id: 2\n"), text.hasSuffix("\n\n") { break }
            }

            let events = text.split(separator: "\n\n").filter { $0.contains("event: notification") }
            #expect(events.count == 2)
            let data = try #require(events.last?.split(separator: "data: ").last)
            let view = try WireJSON.decoder().decode(NotificationView.self, from: Data(data.utf8))
            #expect((view.number, view.title) == (2, "Live"))
        }
    }

    @Test("The event stream resumes after a known event ID, and starts over after an unknown one")
    func streamResumes() async throws {
        try await withSandbox { fixture in
            for _ in 0..<3 { _ = try await fixture.push() }

            for (known, expected) in [("2", "id: 3"), ("900", "id: 1")] {
                var request = HTTPClientRequest(url: fixture.sandbox.url + "/sandbox/stream")
                request.headers.add(name: "last-event-id", value: known)
                let response = try await fixture.http.execute(request, timeout: .seconds(20))
                var text = ""
                for try await bytes in response.body {
                    text += String(buffer: bytes)
                    if text.contains("id: 3\n") { break }
                }
                #expect(text.split(separator: "\n").first { $0.hasPrefix("id: ") } == expected[...])
            }
        }
    }
}

extension SandboxFixture {
    func page(_ query: String) async throws -> NotificationPage {
        try await send(.GET, "\(sandbox.url)/sandbox/notifications?\(query)", within: .seconds(60))
            .decode(NotificationPage.self)
    }
}
