import NIOCore
import SocketIO
import Testing

@Suite struct PollingTests {
    /// A session that is in `/`, after its `auth`.
    private func joined(_ fixture: Fixture) async throws -> Polling {
        let client = try await fixture.polling()
        #expect(try await client.post("40").body == "ok")
        _ = try await client.fetch(until: "auth")
        return client
    }

    @Test func packetsArriveInOneAnswer() async throws {
        try await withServer { fixture in
            let client = try await joined(fixture)
            let post = try await client.post(
                "42[\"message\",1]\u{1e}42[\"message\",\"\u{20ac}\"]\u{1e}422[\"message-with-ack\"]"
            )
            #expect(post.body == "ok")
            #expect(post.fields["content-type"] == "text/html")
            let expected = "42[\"message-back\",1]\u{1e}42[\"message-back\",\"\u{20ac}\"]\u{1e}432[]"
            #expect(try await client.fetch().body == expected)
        }
    }

    @Test func binaryIsBase64InRevision4() async throws {
        try await withServer { fixture in
            let client = try await joined(fixture)
            let placeholder = #"{"_placeholder":true,"num":0}"#
            #expect(try await client.post("451-[\"message\",\(placeholder)]\u{1e}bAQIDBA==").body == "ok")
            #expect(try await client.fetch().body == "451-[\"message-back\",\(placeholder)]\u{1e}bAQIDBA==")
        }
    }

    @Test func revision3CountsInUTF16AndIsInTheNamespaceUnasked() async throws {
        try await withServer { fixture in
            let client = try await fixture.polling(revision: 3, query: "&b64=1")
            #expect(try await client.fetch(until: "auth") == #"2:4013:42["auth",{}]"#)
            // Of the euro sign one unit, of the smile two.
            let message = "42[\"message\",\"\u{20ac}\u{1f600}\"]"
            #expect(try await client.post("\(message.utf16.count):\(message)").body == "ok")
            let back = "42[\"message-back\",\"\u{20ac}\u{1f600}\"]"
            #expect(try await client.fetch().body == "\(back.utf16.count):\(back)")
        }
    }

    /// As python-engineio 3 does.
    @Test func revision3CountedInCharacters() async throws {
        try await withServer { fixture in
            let client = try await fixture.polling(revision: 3, query: "&b64=1")
            _ = try await client.fetch(until: "auth")
            let texts = ["one", "\u{1f600}\u{1f600}", "\u{20ac}", "\u{1f600}", "last"]
            let said = texts.map { "42[\"message\",\"\($0)\"]" }
            let body = said.map { "\($0.utf16.count):\($0)" }.joined()
            #expect(try await client.post(body).body == "ok")

            var heard: [String] = []
            while heard.last?.contains("last") != true {
                var rest = try await client.fetch().body.unicodeScalars[...]
                while let colon = rest.firstIndex(of: ":") {
                    let length = try #require(Int(String(rest[..<colon])), "\(rest)")
                    rest = rest[rest.index(after: colon)...]
                    heard.append(String(rest.prefix(length)))
                    rest = rest.dropFirst(length)
                }
            }
            #expect(heard == texts.map { "42[\"message-back\",\"\($0)\"]" })
        }
    }

    @Test func revision3HasBinaryInBothForms() async throws {
        let event = #"451-["message",{"_placeholder":true,"num":0}]"#
        let back = #"451-["message-back",{"_placeholder":true,"num":0}]"#
        try await withServer { fixture in
            let texts = try await fixture.polling(revision: 3, query: "&b64=1")
            _ = try await texts.fetch(until: "auth")
            #expect(try await texts.post("\(event.count):\(event)10:b4AQIDBA==").body == "ok")
            #expect(try await texts.fetch().body == "\(back.count):\(back)10:b4AQIDBA==")

            let bytes = try await fixture.polling(revision: 3)
            _ = try await bytes.fetch(until: "auth")
            let body = [0, 4, 5, 0xff] + Array(event.utf8) + [1, 5, 0xff, 4, 1, 2, 3, 4]
            #expect(try await bytes.post(body).body == "ok")
            let answer = try await bytes.fetch()
            #expect(answer.fields["content-type"] == "application/octet-stream")
            let expected = [0, 5, 0, 0xff] + Array(back.utf8) + [1, 5, 0xff, 4, 1, 2, 3, 4]
            #expect(Array(answer.bytes.readableBytesView) == expected)
        }
    }

    @Test func twoPollsAtOnceCloseTheSession() async throws {
        try await withServer { fixture in
            let client = try await fixture.polling()
            try await client.fetching.send("GET", client.path)
            let second = try await client.posting.request("GET", client.path)
            let first = try await client.fetching.answer()
            // Whichever came first.
            #expect(Set([first.status, second.status]) == [200, 400])
            #expect([first.body, second.body].contains("1"))
            #expect(try await !client.isKnown())
        }
    }

    @Test func twoPostsAtOnceCloseTheSession() async throws {
        let gate = AsyncStream<Void>.makeStream()
        try await withServer { settings in
            settings.limits.queuedCalls = 1
        } namespaces: { server in
            server.namespace("/").on("wait") { socket, _ in
                socket.perform { for await _ in gate.stream { break } }
            }
        } _: { fixture in
            let client = try await joined(fixture)
            // The first post has to wait, since the socket has more to do than it may.
            try await client.posting.send(
                "POST",
                client.path,
                body: ByteBuffer(string: "42[\"wait\"]\u{1e}42[\"wait\"]")
            )
            var second = try await fixture.connect().request("POST", client.path, body: ByteBuffer(string: "6"))
            while second.status == 200 {
                second = try await fixture.connect().request("POST", client.path, body: ByteBuffer(string: "6"))
            }
            #expect(second.body == #"{"code":3,"message":"Bad request"}"#)
            #expect(try await !client.isKnown())
            gate.continuation.finish()
        }
    }

    @Test func aPollThatIsGivenUpClosesTheSession() async throws {
        let closed = AsyncStream<DisconnectReason>.makeStream()
        try await withServer { _ in
        } namespaces: { server in
            server.namespace("/").onDisconnect { _, reason in closed.continuation.yield(reason) }
        } _: { fixture in
            let client = try await joined(fixture)
            try await client.fetching.send("GET", client.path)
            // The poll is there once a second one would be too many; a post says so without harm.
            #expect(try await client.post("6").status == 200)
            try await client.fetching.close()
            var reasons = closed.stream.makeAsyncIterator()
            #expect(await reasons.next() == .transportClose)
            #expect(try await !client.isKnown())
        }
    }

    @Test func aClientThatClosesGetsItsPollEnded() async throws {
        try await withServer { fixture in
            let client = try await fixture.polling()
            try await client.fetching.send("GET", client.path)
            #expect(try await client.post("6").body == "ok")
            #expect(try await client.post("1").body == "ok")
            #expect(try await client.fetching.answer().body == "6")
            #expect(try await !client.isKnown())
        }
    }

    @Test func aPollThatCrossesTheCloseIsStillAnswered() async throws {
        try await withServer { fixture in
            let client = try await fixture.polling()
            #expect(try await client.post("1").body == "ok")
            #expect(try await client.fetch().body == "6")
            #expect(try await client.fetch().status == 400)
        }
    }

    @Test(arguments: ["abc", "", "4\u{1e}", "b====", "4\u{1e}\u{1e}4", "8"])
    func malformedPacket(body: String) async throws {
        try await withServer { fixture in
            let client = try await fixture.polling()
            let answer = try await client.post(body)
            if body.isEmpty {
                #expect(answer.status == 200)
            } else {
                #expect(answer.status == 400)
                #expect(try await !client.isKnown())
            }
        }
    }

    @Test(arguments: ["5:40", "x", "99999999999:4", "1:\u{1f600}", ":40"])
    func malformedPayloadOfRevision3(body: String) async throws {
        try await withServer { fixture in
            let client = try await fixture.polling(revision: 3)
            #expect(try await client.post(body).status == 400)
            #expect(try await !client.isKnown())
        }
    }

    @Test func octetsAreNotOfRevision4() async throws {
        try await withServer { fixture in
            let client = try await fixture.polling()
            #expect(try await client.post([0, 1, 0xff, 0x36]).status == 400)
            #expect(try await !client.isKnown())
        }
    }

    @Test func textHasToBeUTF8() async throws {
        try await withServer { fixture in
            let client = try await fixture.polling()
            let body = ByteBuffer(bytes: [0x34, 0xff, 0xfe])
            #expect(try await client.posting.request("POST", client.path, body: body).status == 400)
            #expect(try await !client.isKnown())
        }
    }

    @Test func aBodyMayNotBeTooLarge() async throws {
        try await withServer { settings in
            settings.maxPayload = 100
        } _: { fixture in
            let client = try await fixture.polling()
            #expect(try await client.post("6" + String(repeating: " ", count: 99)).status == 200)
            #expect(try await client.post("4" + String(repeating: "a", count: 100)).status == 413)
            try await client.posting.readToEnd()

            // One that does not say how long it is.
            let rawConnection = try await fixture.connect()
            try await rawConnection.send(
                "POST \(client.path) HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            let chunk = String(repeating: "a", count: 64)
            try await rawConnection.send("40\r\n\(chunk)\r\n40\r\n\(chunk)\r\n0\r\n\r\n")
            #expect(try await rawConnection.answer().status == 413)
            try await rawConnection.readToEnd()
            #expect(try await client.isKnown())
        }
    }

    @Test func disconnectByPolling() async throws {
        try await withServer { _ in
        } namespaces: { server in
            server.namespace("/").on("bye") { socket, _ in socket.disconnect(close: true) }
        } _: { fixture in
            let client = try await joined(fixture)
            #expect(try await client.post("42[\"bye\"]").body == "ok")
            #expect(try await client.fetch().body == "41\u{1e}1")
            #expect(try await client.fetch().body == #"{"code":1,"message":"Session ID unknown"}"#)
        }
    }
}
