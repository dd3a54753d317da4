import NIOCore
import SocketIO
import Testing

@Suite("Polling") struct PollingTests {
    /// Opens a polling session, joins `/` and reads the `auth` event.
    private func joined(_ fixture: Fixture) async throws -> Polling {
        let client = try await fixture.polling()
        #expect(try await client.post("40").body == "ok")
        _ = try await client.fetch(until: "auth")
        return client
    }

    @Test("Several packets arrive in one response")
    func batching() async throws {
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

    @Test("Binary data is Base64 in revision 4")
    func binary() async throws {
        try await withServer { fixture in
            let client = try await joined(fixture)
            let placeholder = #"{"_placeholder":true,"num":0}"#
            #expect(try await client.post("451-[\"message\",\(placeholder)]\u{1e}bAQIDBA==").body == "ok")
            #expect(try await client.fetch().body == "451-[\"message-back\",\(placeholder)]\u{1e}bAQIDBA==")
        }
    }

    @Test("A revision 3 payload counts in UTF-16 units, and the main namespace is joined automatically")
    func revision3() async throws {
        try await withServer { fixture in
            let client = try await fixture.polling(revision: 3, query: "&b64=1")
            #expect(try await client.fetch(until: "auth") == #"2:4013:42["auth",{}]"#)
            // The euro sign is one unit, the smiley is two.
            let message = "42[\"message\",\"\u{20ac}\u{1f600}\"]"
            #expect(try await client.post("\(message.utf16.count):\(message)").body == "ok")
            let back = "42[\"message-back\",\"\u{20ac}\u{1f600}\"]"
            #expect(try await client.fetch().body == "\(back.utf16.count):\(back)")
        }
    }

    /// python-engineio 3 counts characters instead of UTF-16 units.
    @Test("A revision 3 client that counts in characters reads every packet")
    func revision3CountedInCharacters() async throws {
        try await withServer { fixture in
            let client = try await fixture.polling(revision: 3, query: "&b64=1")
            _ = try await client.fetch(until: "auth")
            let texts = ["one", "\u{1f600}\u{1f600}", "\u{20ac}", "\u{1f600}", "last"]
            let sent = texts.map { "42[\"message\",\"\($0)\"]" }
            let body = sent.map { "\($0.utf16.count):\($0)" }.joined()
            #expect(try await client.post(body).body == "ok")

            var received: [String] = []
            while received.last?.contains("last") != true {
                var rest = try await client.fetch().body.unicodeScalars[...]
                while let colon = rest.firstIndex(of: ":") {
                    let length = try #require(Int(String(rest[..<colon])), "\(rest)")
                    rest = rest[rest.index(after: colon)...]
                    received.append(String(rest.prefix(length)))
                    rest = rest.dropFirst(length)
                }
            }
            #expect(received == texts.map { "42[\"message-back\",\"\($0)\"]" })
        }
    }

    @Test("Revision 3 transfers binary data as Base64 and as bytes")
    func revision3Binary() async throws {
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

    @Test("Two concurrent polls close the session")
    func concurrentPolls() async throws {
        try await withServer { fixture in
            let client = try await fixture.polling()
            try await client.fetching.send("GET", client.path)
            let second = try await client.posting.request("GET", client.path)
            let first = try await client.fetching.response()
            // Either request may arrive first.
            #expect(Set([first.status, second.status]) == [200, 400])
            #expect([first.body, second.body].contains("1"))
            #expect(try await !client.isKnown())
        }
    }

    @Test("Two concurrent posts close the session")
    func concurrentPosts() async throws {
        let gate = AsyncStream<Void>.makeStream()
        try await withServer { settings in
            settings.limits.queuedCalls = 1
        } namespaces: { server in
            server.namespace("/").on("wait") { socket, _ in
                socket.perform { for await _ in gate.stream { break } }
            }
        } _: { fixture in
            let client = try await joined(fixture)
            // The first post has to wait, because the socket's queue of calls is full.
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

    @Test("A poll whose connection closes ends the session")
    func abandonedPoll() async throws {
        let closed = AsyncStream<DisconnectReason>.makeStream()
        try await withServer { _ in
        } namespaces: { server in
            server.namespace("/").onDisconnect { _, reason in closed.continuation.yield(reason) }
        } _: { fixture in
            let client = try await joined(fixture)
            try await client.fetching.send("GET", client.path)
            // The response to a post shows that the server has received the poll.
            #expect(try await client.post("6").status == 200)
            try await client.fetching.close()
            var reasons = closed.stream.makeAsyncIterator()
            #expect(await reasons.next() == .transportClose)
            #expect(try await !client.isKnown())
        }
    }

    @Test("A client's close packet ends its poll and the session")
    func closingClient() async throws {
        try await withServer { fixture in
            let client = try await fixture.polling()
            try await client.fetching.send("GET", client.path)
            #expect(try await client.post("6").body == "ok")
            #expect(try await client.post("1").body == "ok")
            #expect(try await client.fetching.response().body == "6")
            #expect(try await !client.isKnown())
        }
    }

    @Test("The first poll after a close packet gets a response, the second one an error")
    func pollAfterClose() async throws {
        try await withServer { fixture in
            let client = try await fixture.polling()
            #expect(try await client.post("1").body == "ok")
            #expect(try await client.fetch().body == "6")
            #expect(try await client.fetch().status == 400)
        }
    }

    @Test(
        "A malformed packet ends the session; an empty body is valid",
        arguments: ["abc", "", "4\u{1e}", "b====", "4\u{1e}\u{1e}4", "8"]
    )
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

    @Test(
        "A malformed revision 3 payload ends the session",
        arguments: ["5:40", "x", "99999999999:4", "1:\u{1f600}", ":40"]
    )
    func malformedPayloadOfRevision3(body: String) async throws {
        try await withServer { fixture in
            let client = try await fixture.polling(revision: 3)
            #expect(try await client.post(body).status == 400)
            #expect(try await !client.isKnown())
        }
    }

    @Test("A binary body in revision 4 ends the session")
    func bytesInRevision4() async throws {
        try await withServer { fixture in
            let client = try await fixture.polling()
            #expect(try await client.post([0, 1, 0xff, 0x36]).status == 400)
            #expect(try await !client.isKnown())
        }
    }

    @Test("A body that is not UTF-8 ends the session")
    func invalidUTF8() async throws {
        try await withServer { fixture in
            let client = try await fixture.polling()
            let body = ByteBuffer(bytes: [0x34, 0xff, 0xfe])
            #expect(try await client.posting.request("POST", client.path, body: body).status == 400)
            #expect(try await !client.isKnown())
        }
    }

    @Test("A body larger than the limit gets 413, with or without a declared length")
    func bodyLimit() async throws {
        try await withServer { settings in
            settings.maxPayload = 100
        } _: { fixture in
            let client = try await fixture.polling()
            #expect(try await client.post("6" + String(repeating: " ", count: 99)).status == 200)
            #expect(try await client.post("4" + String(repeating: "a", count: 100)).status == 413)
            try await client.posting.readToEnd()

            // A chunked body declares no length.
            let rawConnection = try await fixture.connect()
            try await rawConnection.send(
                "POST \(client.path) HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            let chunk = String(repeating: "a", count: 64)
            try await rawConnection.send("40\r\n\(chunk)\r\n40\r\n\(chunk)\r\n0\r\n\r\n")
            #expect(try await rawConnection.response().status == 413)
            try await rawConnection.readToEnd()
            #expect(try await client.isKnown())
        }
    }

    @Test("A client that the server disconnects receives the packets of the end, and its session is unknown")
    func disconnection() async throws {
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
