import Foundation
import HTTPTypes
import Postgres
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

@Suite("Streams of changes") struct StreamTests {
    @Test("A stream sends the user's changes in order, each once")
    func order() async throws {
        try await withSocial { fixture in
            try await fixture.link(.mastodon)
            try await fixture.bob.link(.mastodon, "bob", #", "instance": "mastodon.example""#)
            try await fixture.service.served { port in
                try await EventStreamClient.with(port: port, "/stream", token: fixture.ann.token) { stream in
                    let ready = await stream.event()
                    let network = fixture.networks[.mastodon]
                    try await eventually { network.openStreams.value["ann"] != nil }
                    for id in ["one", "two"] { network.emit("ann", .created(network.item(id, at: 1))) }
                    network.emit("ann", .created(network.item("two", at: 1)))
                    network.emit("ann", .deleted("one"))
                    let events = [await stream.event(), await stream.event(), await stream.event()]

                    #expect(stream.status == 200)
                    #expect(ready?.name == "ready")
                    #expect(events.map { $0?.name } == ["created", "created", "deleted"])
                    #expect(events.map { $0?.json["id"].string } == ["mastodon:one", "mastodon:two", "mastodon:one"])
                    #expect(events[0]?.json["item"]["text"].string == "text of one")
                    #expect(events[2]?.json["item"] == .null)
                }
            }
            #expect(try await fixture.rows("SELECT DISTINCT user_id AS row FROM changes") == ["ann"])
        }
    }

    @Test("A stream that fails to start does not count against the stream limit")
    func failedStart() async throws {
        try await withSocial(settings: ["STREAMS_MAX": "2"]) { fixture in
            let pool = fixture.service.database.pool
            try await pool.run("ALTER TABLE polled_lists RENAME TO away")
            try await fixture.service.served { port in
                for _ in 0..<5 {
                    let status = try await EventStreamClient.with(port: port, "/stream", token: fixture.ann.token) {
                        $0.status
                    }
                    #expect(status >= 500)
                }
                try await pool.run("ALTER TABLE away RENAME TO polled_lists")
                let ready = try await EventStreamClient.with(port: port, "/stream", token: fixture.ann.token) {
                    await $0.event()
                }
                #expect(ready?.name == "ready")
            }
        }
    }

    @Test("A ticket opens the stream, which continues after `lastEventId` and ends with the session")
    func ticket() async throws {
        try await withSocial { fixture in
            try await fixture.link(.facebook)
            for id in ["one", "two"] { try await fixture.deliver(id) }
            let session = UUID().uuidString.lowercased()
            let ticket = try await fixture.keys.ticket(
                for: fixture.ann.id,
                session: session,
                path: "/stream",
                issued: fixture.clock.read()
            )
            try await fixture.service.served { port in
                let path = "/stream?ticket=\(ticket)&lastEventId=1-0"
                try await EventStreamClient.with(port: port, path, token: nil) { stream in
                    #expect(await stream.event()?.name == "ready")
                    #expect(await stream.event()?.json["id"].string == "facebook:two")
                    fixture.keys.revoke(session)
                    #expect(await stream.event() == nil)
                }
                // The header field of a browser that reconnects is newer than the parameter.
                let late = try await EventStreamClient.with(
                    port: port,
                    "/stream?lastEventId=1-0",
                    token: fixture.ann.token,
                    after: "77-0"
                ) { await $0.event() }
                #expect(late?.name == "reload")
            }
            let normal = try await fixture.service.send(.get, "/networks?ticket=\(ticket)")
            #expect(normal.status == 403)
            let elsewhere = try await fixture.keys.ticket(
                for: fixture.ann.id,
                path: "/photos",
                issued: fixture.clock.read()
            )
            let mismatch = try await fixture.service.send(.get, "/stream?ticket=\(elsewhere)")
            #expect(mismatch.problem?.code == "ticket_path_mismatch")
        }
    }

    @Test("A client that reconnects receives the missed changes, or must reload")
    func resume() async throws {
        try await withSocial { fixture in
            try await fixture.link(.facebook)
            for id in ["one", "two", "three"] { try await fixture.deliver(id) }
            try await fixture.service.served { port in
                let token = fixture.ann.token
                let back = try await EventStreamClient.with(port: port, "/stream", token: token, after: "1-0") {
                    stream in
                    [await stream.event(), await stream.event(), await stream.event()]
                }
                let late = try await EventStreamClient.with(port: port, "/stream", token: token, after: "77-0") {
                    stream in
                    await stream.event()
                }
                let wrong = try await EventStreamClient.with(port: port, "/stream", token: token, after: "x") {
                    $0.status
                }

                #expect(back.map { $0?.name } == ["ready", "created", "created"])
                #expect(back.map { $0?.json["id"].string } == [nil, "facebook:two", "facebook:three"])
                #expect(back.last??.id == "3-0")
                #expect(late?.name == "reload")
                #expect(late?.id == "3-0")
                #expect(wrong == 400)
            }
        }
    }

    @Test("A stream at another instance receives the change")
    func otherInstance() async throws {
        try await withSocial { fixture in
            try await fixture.link(.facebook)
            try await fixture.another { other in
                try await other.served { port in
                    try await EventStreamClient.with(port: port, "/stream", token: fixture.ann.token) { stream in
                        #expect(await stream.event()?.name == "ready")
                        try await fixture.deliver("elsewhere")

                        #expect(await stream.event()?.json["id"].string == "facebook:elsewhere")
                    }
                }
            }
        }
    }

    @Test("A stream ends with the session")
    func endedSession() async throws {
        try await withSocial { fixture in
            try await fixture.service.served { port in
                try await EventStreamClient.with(port: port, "/stream", token: fixture.ann.token) { stream in
                    #expect(await stream.event()?.name == "ready")
                    fixture.keys.revoke(fixture.ann.session)

                    #expect(await stream.event() == nil)
                }
            }
        }
    }
}

extension MemoryNetwork {
    /// Sends an event on an account's open stream.
    func emit(_ account: String, _ change: NetworkEvent.Change) {
        openStreams.value[account]?.yield(NetworkEvent(account: "id of \(account)", list: .feed, change: change))
    }
}

extension SocialFixture {
    /// Delivers a webhook of Facebook with a new item for Ana.
    func deliver(_ id: String) async throws {
        let answer = try await service.call("/webhooks/facebook", "id of ann created \(id) 7")
        guard answer.status == 200 else { throw TestSupportError("\(answer.status): \(answer.text)") }
    }
}

extension TestService {
    /// Sends a signed webhook like a network does.
    func call(_ path: String, _ body: String, _ fields: [String: String] = [:]) async throws -> TestHTTPResponse {
        var headers: HTTPFields = [.contentType: "application/json"]
        for (name, value) in ["x-signature": "good"].merging(fields, uniquingKeysWith: { $1 }) {
            guard let name = HTTPField.Name(name) else { continue }
            headers[name] = value
        }
        return try await send(.post, path, body: body, headers: headers)
    }
}
