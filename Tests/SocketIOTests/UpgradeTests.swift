import NIOCore
import SocketIO
import Testing

@Suite struct UpgradeTests {
    private func probing(_ client: Polling) async throws -> WebSocket {
        let path = "/socket.io/?EIO=4&transport=websocket&sid=\(client.id)"
        return try await WebSocket(client.fixture.connect(), path)
    }

    @Test(arguments: [1, 4])
    func upgradeKeepsMessages(loops: Int) async throws {
        try await withServer(loops: loops) { fixture in
            let client = try await fixture.polling()
            #expect(try await client.post("40").body == "ok")
            #expect(try await client.fetch(until: "auth").hasPrefix("40{"))
            #expect(try await client.post(#"42["join","a"]"#).body == "ok")

            try await client.fetching.send("GET", client.path)
            let socket = try await probing(client)
            try await socket.send("2probe")
            #expect(try await socket.text() == "3probe")
            #expect(try await client.fetching.answer().body == "6")
            // What is said meanwhile is kept.
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

    @Test(arguments: [1, 4])
    func aClientNeedNotWaitForAnswers(loops: Int) async throws {
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

    @Test func everyPollIsEndedWhileTheUpgradeLasts() async throws {
        try await withServer { fixture in
            let client = try await fixture.polling()
            let socket = try await probing(client)
            try await socket.send("2probe")
            #expect(try await socket.text() == "3probe")
            for _ in 0..<3 { #expect(try await client.fetch().body == "6") }
            // Swift's client posts one itself.
            #expect(try await client.post("6").body == "ok")
        }
    }

    @Test(arguments: ["2", "4hello", "x", "3probe"])
    func awrongProbeLeavesTheSessionPolling(text: String) async throws {
        try await withServer { fixture in
            let client = try await fixture.polling()
            let socket = try await probing(client)
            try await socket.send(text)
            #expect(try await socket.closeCode() == nil)
            #expect(try await client.post("40").body == "ok")
            #expect(try await client.fetch().body.hasPrefix("40{"))
        }
    }

    @Test func failedProbe() async throws {
        try await withServer { settings in
            settings.upgradeTimeout = .seconds(5)
        } _: { fixture in
            let client = try await fixture.polling()
            let dying = try await probing(client)
            try await dying.send("2probe")
            #expect(try await dying.text() == "3probe")
            try await dying.rawConnection.close()
            var dawdling = try await probing(client)
            try await dawdling.send("2probe")
            // The server may not have heard of the first one's end.
            while try await dawdling.frame() != .text("3probe") {
                dawdling = try await probing(client)
                try await dawdling.send("2probe")
            }
            #expect(try await dawdling.closeCode() == nil)
            #expect(try await client.post("40").body == "ok")
            #expect(try await client.fetch().body.hasPrefix("40{"))
        }
    }

    @Test func noUpgradeIsOfferedWhereThereIsNone() async throws {
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
