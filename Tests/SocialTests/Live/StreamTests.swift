import Foundation
import HTTPTypes
import Postgres
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

@Suite struct StreamTests {
    @Test func whatHappensIsHeardInOrderAndByItsOwnerAlone() async throws {
        try await withSocial { scene in
            try await scene.link(.mastodon)
            try await scene.bob.link(.mastodon, "bob", #", "instance": "mastodon.example""#)
            try await scene.service.served { port in
                try await EventStreamClient.with(port: port, "/stream", token: scene.ann.token) { stream in
                    let ready = await stream.event()
                    let network = scene.networks[.mastodon]
                    try await eventually { network.lines.value["ann"] != nil }
                    for id in ["one", "two"] { network.tell("ann", .created(network.item(id, at: 1))) }
                    network.tell("ann", .created(network.item("two", at: 1)))
                    network.tell("ann", .deleted("one"))
                    let heard = [await stream.event(), await stream.event(), await stream.event()]

                    #expect(stream.status == 200 && ready?.name == "ready")
                    #expect(heard.map { $0?.name } == ["created", "created", "deleted"])
                    #expect(heard.map { $0?.json["id"].string } == ["mastodon:one", "mastodon:two", "mastodon:one"])
                    #expect(heard[0]?.json["item"]["text"].string == "text of one")
                    #expect(heard[2]?.json["item"] == .null)
                }
            }
            #expect(try await scene.rows("SELECT DISTINCT user_id AS row FROM changes") == ["ann"])
        }
    }

    @Test func aStreamThatCouldNotBeginLeavesItsPlace() async throws {
        try await withSocial(settings: ["STREAMS_MAX": "2"]) { scene in
            let pool = scene.service.database.pool
            try await pool.run("ALTER TABLE watches RENAME TO away")
            try await scene.service.served { port in
                for _ in 0..<5 {
                    let status = try await EventStreamClient.with(port: port, "/stream", token: scene.ann.token) {
                        $0.status
                    }
                    #expect(status >= 500)
                }
                try await pool.run("ALTER TABLE away RENAME TO watches")
                let ready = try await EventStreamClient.with(port: port, "/stream", token: scene.ann.token) {
                    await $0.event()
                }
                #expect(ready?.name == "ready")
            }
        }
    }

    @Test("A ticket opens the stream, which continues behind `lastEventId` and ends with the session")
    func ticket() async throws {
        try await withSocial { scene in
            try await scene.link(.facebook)
            for id in ["one", "two"] { try await scene.deliver(id) }
            let session = UUID().uuidString.lowercased()
            let ticket = try await scene.keys.ticket(
                for: scene.ann.id,
                session: session,
                path: "/stream",
                issued: scene.clock.read()
            )
            try await scene.service.served { port in
                let path = "/stream?ticket=\(ticket)&lastEventId=1-0"
                try await EventStreamClient.with(port: port, path, token: nil) { stream in
                    #expect(await stream.event()?.name == "ready")
                    #expect(await stream.event()?.json["id"].string == "facebook:two")
                    scene.keys.revoke(session)
                    #expect(await stream.event() == nil)
                }
                // The header field of a browser that reconnects is newer than the parameter.
                let late = try await EventStreamClient.with(
                    port: port,
                    "/stream?lastEventId=1-0",
                    token: scene.ann.token,
                    after: "77-0"
                ) { await $0.event() }
                #expect(late?.name == "reload")
            }
            let normal = try await scene.service.send(.get, "/networks?ticket=\(ticket)")
            #expect(normal.status == 403)
            let elsewhere = try await scene.keys.ticket(for: scene.ann.id, path: "/photos", issued: scene.clock.read())
            let mismatch = try await scene.service.send(.get, "/stream?ticket=\(elsewhere)")
            #expect(mismatch.problem?.code == "ticket_path_mismatch")
        }
    }

    @Test func whoComesBackGoesOnWhereHeWas() async throws {
        try await withSocial { scene in
            try await scene.link(.facebook)
            for id in ["one", "two", "three"] { try await scene.deliver(id) }
            try await scene.service.served { port in
                let token = scene.ann.token
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
                #expect(late?.name == "reload" && late?.id == "3-0")
                #expect(wrong == 400)
            }
        }
    }

    @Test func whatAnotherInstanceHearsIsToldHere() async throws {
        try await withSocial { scene in
            try await scene.link(.facebook)
            try await scene.another { other in
                try await other.served { port in
                    try await EventStreamClient.with(port: port, "/stream", token: scene.ann.token) { stream in
                        #expect(await stream.event()?.name == "ready")
                        try await scene.deliver("elsewhere")

                        #expect(await stream.event()?.json["id"].string == "facebook:elsewhere")
                    }
                }
            }
        }
    }

    @Test func aSessionThatEndsEndsItsStream() async throws {
        try await withSocial { scene in
            try await scene.service.served { port in
                try await EventStreamClient.with(port: port, "/stream", token: scene.ann.token) { stream in
                    #expect(await stream.event()?.name == "ready")
                    scene.keys.revoke(scene.ann.session)

                    #expect(await stream.event() == nil)
                }
            }
        }
    }
}

extension MemoryNetwork {
    /// Says something on an account's open line.
    func tell(_ account: String, _ change: NetworkEvent.Change) {
        lines.value[account]?.yield(NetworkEvent(account: "id of \(account)", list: .feed, change: change))
    }
}

extension Scene {
    /// Facebook tells that something is new for Ann.
    func deliver(_ id: String) async throws {
        let answer = try await service.call("/webhooks/facebook", "id of ann created \(id) 7")
        guard answer.status == 200 else { throw TestSupportError("\(answer.status): \(answer.text)") }
    }
}

extension TestService {
    /// Calls as a network does.
    func call(_ path: String, _ body: String, _ fields: [String: String] = [:]) async throws -> TestAnswer {
        var headers: HTTPFields = [.contentType: "application/json"]
        for (name, value) in ["x-signature": "good"].merging(fields, uniquingKeysWith: { $1 }) {
            guard let name = HTTPField.Name(name) else { continue }
            headers[name] = value
        }
        return try await send(.post, path, body: body, headers: headers)
    }
}
