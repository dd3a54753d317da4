import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import SandboxServer
import Testing
import Wire

/// How what has arrived is shown.
@Suite(.timeLimit(.minutes(1))) struct SeenTests {
    @Test func whatCameIsReadPageByPage() async throws {
        try await withSandbox { scene in
            for _ in 0..<3 { _ = try await scene.push() }

            let first = try await scene.page("limit=2")
            let second = try await scene.page("after=\(first.next)")
            let third = try await scene.page("after=\(second.next)")

            #expect(first.notifications.map(\.number) == [1, 2])
            #expect(second.notifications.map(\.number) == [3])
            #expect(third.notifications.isEmpty)
            #expect(third.next == 3)
            #expect(try await scene.ask(.GET, scene.sandbox.url + "/sandbox/notifications?limit=0").status == 400)
        }
    }

    @Test func whoWaitsIsAnsweredWhenSomethingComes() async throws {
        try await withSandbox { scene in
            async let waiting = scene.page("after=0&wait=30")
            _ = try await scene.push()

            #expect(try await waiting.notifications.map(\.title) == ["Live"])
            #expect(try await scene.page("after=1&wait=1").notifications.isEmpty)
        }
    }

    @Test func onlyTheNewestAreKeptAndAllAreCounted() async throws {
        try await withSandbox {
            $0.kept = 2
        } test: { scene in
            for _ in 0..<5 { _ = try await scene.push() }

            #expect(try await scene.page("after=1").notifications.map(\.number) == [4, 5])
            let counts = try await scene.ask(.GET, scene.sandbox.url + "/sandbox/counts")
            #expect(try counts.decode(SeenNotifications.Counts.self).accepted == 5)
            #expect(try await scene.tell("/sandbox/notifications", "", .DELETE).status == 204)
            #expect(scene.sandbox.seen.counts.accepted == 0)
            #expect(scene.sandbox.seen.all().isEmpty)
        }
    }

    @Test func aStreamTellsWhatIsThereAndWhatComes() async throws {
        try await withSandbox { scene in
            _ = try await scene.push()
            var request = HTTPClientRequest(url: scene.sandbox.url + "/sandbox/stream?after=0")
            request.headers.add(name: "accept", value: "text/event-stream")
            let response = try await scene.http.execute(request, timeout: .seconds(20))
            #expect(response.headers.first(name: "content-type") == "text/event-stream")

            var text = ""
            for try await bytes in response.body {
                text += String(buffer: bytes)
                // The first is there, and the second comes once it has been read.
                if text.contains("id: 1\n"), scene.sandbox.seen.last == 1 { _ = try await scene.push() }
                if text.contains("id: 2\n"), text.hasSuffix("\n\n") { break }
            }

            let events = text.split(separator: "\n\n").filter { $0.contains("event: notification") }
            #expect(events.count == 2)
            let data = try #require(events.last?.split(separator: "data: ").last)
            let view = try WireJSON.decoder().decode(NotificationView.self, from: Data(data.utf8))
            #expect((view.number, view.title) == (2, "Live"))
        }
    }

    @Test func whoComesBackToAStreamGoesOnWhereHeWas() async throws {
        try await withSandbox { scene in
            for _ in 0..<3 { _ = try await scene.push() }

            for (known, expected) in [("2", "id: 3"), ("900", "id: 1")] {
                var request = HTTPClientRequest(url: scene.sandbox.url + "/sandbox/stream")
                request.headers.add(name: "last-event-id", value: known)
                let response = try await scene.http.execute(request, timeout: .seconds(20))
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

extension SandboxScene {
    func page(_ query: String) async throws -> NotificationPage {
        try await ask(.GET, "\(sandbox.url)/sandbox/notifications?\(query)", within: .seconds(60))
            .decode(NotificationPage.self)
    }
}
