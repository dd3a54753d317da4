import NIOCore
import SocketIO
import Testing

@Suite("Upgrade to WebSocket") struct UpgradeTests {
    private func probing(_ client: Polling) async throws -> WebSocket {
        let path = "/socket.io/?EIO=4&transport=websocket&sid=\(client.id)"
        return try await WebSocket(client.fixture.connect(), path)
    }

    @Test("An upgrade keeps the messages that are sent meanwhile, and ends polling", arguments: [1, 4])
    func messages(loops: Int) async throws {
        try await withServer(loops: loops) { fixture in
            let client = try await fixture.polling()
            #expect(try await client.post("40").body == "ok")
            #expect(try await client.fetch(until: "auth").hasPrefix("40{"))
            #expect(try await client.post(#"42["join","a"]"#).body == "ok")

            try await client.fetching.send("GET", client.path)
            let socket = try await probing(client)
            try await socket.send("2probe")
            #expect(try await socket.text() == "3probe")
            #expect(try await client.fetching.response().body == "6")
            // A message sent during the upgrade is kept.
            #expect(try await client.post(#"42["publish","a",1]"#).body == "ok")
            try await socket.send("5")
            try await socket.send(#"42["publish","a",2]"#)
            #expect(try await socket.text() == #"42["published",1]"#)
            #expect(try await socket.text() == #"42["published",2]"#)

            #expect(try await client.fetch().body == #"{"code":3,"message":"Bad request"}"#)
            #expect(try await client.post("6").body == #"{"code":3,"message":"Bad request"}"#)
            let second = try await probing(client)
            #expect(try await second.closeCode() == nil)
            try await socket.send(#"42["message","still here"]"#)
            #expect(try await socket.text() == #"42["message-back","still here"]"#)
        }
    }

    @Test("A client may send all packets of the upgrade at once", arguments: [1, 4])
    func pipelining(loops: Int) async throws {
        try await withServer(loops: loops) { fixture in
            let client = try await fixture.polling()
            let socket = try await probing(client)
            var all = ByteBuffer()
            for text in ["2probe", "5", "40"] {
                all.writeImmutableBuffer(WebSocket.frame(1, ByteBuffer(string: text)))
            }
            try await socket.rawConnection.send(all)
            #expect(try await socket.text() == "3probe")
            #expect(try await socket.text().hasPrefix("40{"))
        }
    }

    @Test("Every poll during an upgrade ends immediately")
    func pollsDuringUpgrade() async throws {
        try await withServer { fixture in
            let client = try await fixture.polling()
            let socket = try await probing(client)
            try await socket.send("2probe")
            #expect(try await socket.text() == "3probe")
            for _ in 0..<3 { #expect(try await client.fetch().body == "6") }
            // The Swift client posts a packet itself.
            #expect(try await client.post("6").body == "ok")
        }
    }

    @Test(
        "A wrong probe packet closes the WebSocket, and the session keeps polling",
        arguments: ["2", "4hello", "x", "3probe"]
    )
    func wrongProbe(text: String) async throws {
        try await withServer { fixture in
            let client = try await fixture.polling()
            let socket = try await probing(client)
            try await socket.send(text)
            #expect(try await socket.closeCode() == nil)
            #expect(try await client.post("40").body == "ok")
            #expect(try await client.fetch().body.hasPrefix("40{"))
        }
    }

    @Test("A session keeps polling after a probe that closed or timed out")
    func failedProbe() async throws {
        try await withServer { settings in
            settings.upgradeTimeout = .seconds(5)
        } _: { fixture in
            let client = try await fixture.polling()
            let closing = try await probing(client)
            try await closing.send("2probe")
            #expect(try await closing.text() == "3probe")
            try await closing.rawConnection.close()
            var delayed = try await probing(client)
            try await delayed.send("2probe")
            // The server may not have noticed the end of the first probe yet.
            while try await delayed.frame() != .text("3probe") {
                delayed = try await probing(client)
                try await delayed.send("2probe")
            }
            #expect(try await delayed.closeCode() == nil)
            #expect(try await client.post("40").body == "ok")
            #expect(try await client.fetch().body.hasPrefix("40{"))
        }
    }

    @Test("With upgrades disabled none is offered, and a probe is closed")
    func disabledUpgrades() async throws {
        try await withServer { settings in
            settings.allowsUpgrades = false
        } _: { fixture in
            let open = try await fixture.connect().request("GET", "/socket.io/?EIO=4&transport=polling").body
            #expect(open.contains(#""upgrades":[]"#))
            let client = try await fixture.polling()
            let socket = try await probing(client)
            #expect(try await socket.closeCode() == nil)
        }
    }
}
