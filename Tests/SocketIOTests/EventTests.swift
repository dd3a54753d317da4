import NIOCore
import SocketIO
import Testing

@Suite("Events") struct EventTests {
    @Test(
        "Event packets in every valid form are handled; an acknowledgement id beyond 64 bits closes",
        arguments: [
            (#"42["message",1,"2",{"3":[true]}]"#, #"42["message-back",1,"2",{"3":[true]}]"#),
            (#"42["message"]"#, #"42["message-back"]"#),
            (#"42[ "message" , 1 , 2 ]  "#, #"42["message-back",1 , 2]"#),
            (#"42["\u006dessage",null]"#, #"42["message-back",null]"#),
            (#"42456["message-with-ack",1,"2",{"3":[false]}]"#, #"43456[1,"2",{"3":[false]}]"#),
            (#"420["message-with-ack"]"#, "430[]"),
            (#"4218446744073709551615["message-with-ack"]"#, nil),
            (#"450-["message"]"#, #"42["message-back"]"#),
        ]
    )
    func events(packet: String, answer: String?) async throws {
        try await withServer { fixture in
            let socket = try await fixture.joined()
            try await socket.send(packet)
            if let answer {
                #expect(try await socket.text() == answer)
            } else {
                #expect(try await socket.closeCode() == nil)
            }
        }
    }

    @Test("Binary attachments follow their packet in both directions")
    func attachments() async throws {
        let both = #"{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}"#
        try await withServer { fixture in
            let socket = try await fixture.joined()
            try await socket.send("452-[\"message\",\(both)]")
            try await socket.send(binary: [1, 2, 3])
            try await socket.send(binary: [])
            #expect(try await socket.text() == "452-[\"message-back\",\(both)]")
            #expect(try await socket.frame() == .binary([1, 2, 3]))
            #expect(try await socket.frame() == .binary([]))
            try await socket.send("452-789[\"message-with-ack\",\(both)]")
            try await socket.send(binary: [1, 2, 3])
            try await socket.send(binary: [4, 5, 6])
            #expect(try await socket.text() == "462-789[\(both)]")
            #expect(try await socket.frame() == .binary([1, 2, 3]))
            #expect(try await socket.frame() == .binary([4, 5, 6]))
        }
    }

    @Test(
        "A malformed packet closes the connection",
        arguments: [
            "4", "4abc", "48", "42", "42{}", "42[]", "42[null]", "42[{}]", "42[\"a\"", "42[\"a\"]x", "42[\"a\",]",
            "42[\"a\" 1]",
            #"42abc["message"]"#, #"42["connect"]"#, #"42["disconnect"]"#, #"42["newListener"]"#,
            #"42["conn\u0065ct"]"#,
            "40[]", "401", "40\"a\"", "40{\"a\"}", "41{}", "43{}", "431{}", "45[\"a\"]", "45-[\"a\"]", "451[\"a\"]",
            "45-1-[\"a\"]", #"42["a",01]"#, #"42["a",1.]"#, #"42["a",.5]"#, #"42["a",1e]"#, #"42["a",-]"#,
            #"42["a",+1]"#,
            #"42["a",NaN]"#, #"42["a",tru]"#, #"42["a","\x"]"#, #"42["a","\u12g4"]"#, "42[\"a\",\"\n\"]",
            #"42["a",{"b" 1}]"#,
            #"42["a",{b:1}]"#, #"42["a",{"b":1,}]"#, #"42["a",[1,]]"#,
            #"451-["a",{"_placeholder":true,"num":1}]"#, #"451-["a",{"_placeholder":true,"num":-1}]"#,
            #"451-["a",{"_placeholder":true,"num":"0"}]"#, #"451-["a",{"_placeholder":true}]"#,
        ]
    )
    func malformedPacket(packet: String) async throws {
        try await withServer { fixture in
            let socket = try await fixture.joined()
            try await socket.send(packet)
            #expect(try await socket.closeCode() == nil)
        }
    }

    @Test("A packet with a hundred attachments closes the connection")
    func attachmentLimit() async throws {
        try await withServer { fixture in
            let socket = try await fixture.joined()
            try await socket.send(#"45100-["message"]"#)
            #expect(try await socket.closeCode() == nil)
        }
    }

    @Test(
        "JSON nested deeper than the limit closes the connection",
        arguments: [(63, true), (64, false), (100_000, false)]
    )
    func jsonDepth(depth: Int, isAccepted: Bool) async throws {
        try await withServer { fixture in
            let socket = try await fixture.joined()
            let deep = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            try await socket.send("42[\"message\",{\"a\":\(deep)}]")
            if isAccepted {
                #expect(try await socket.text() == "42[\"message-back\",{\"a\":\(deep)}]")
            } else {
                #expect(try await socket.closeCode() == nil)
            }
        }
    }

    @Test("An attachment without a packet, or a packet between attachments, closes the connection")
    func attachmentOrder() async throws {
        try await withServer { fixture in
            let early = try await fixture.joined()
            try await early.send(binary: [1])
            #expect(try await early.closeCode() == nil)

            let interrupted = try await fixture.joined()
            try await interrupted.send(#"451-["message",{"_placeholder":true,"num":0}]"#)
            try await interrupted.send(#"42["message"]"#)
            #expect(try await interrupted.closeCode() == nil)
        }
    }

    @Test("The server receives a client's acknowledgement, a timeout or a disconnection")
    func serverRequest() async throws {
        let answers = AsyncStream<String>.makeStream()
        try await withServer { settings in
            settings.limits.acknowledgements = 2
        } namespaces: { server in
            server.namespace("/").on("ask") { socket, event in
                let isLong = event.arguments[0] == ByteBuffer(string: "true")
                let timeout: Duration = isLong ? .seconds(60) : .milliseconds(20)
                socket.emit("question", SocketArguments(json: "1"), timeout: timeout) { result in
                    switch result {
                    case .success(let arguments): answers.continuation.yield(String(buffer: arguments.json))
                    case .failure(let error): answers.continuation.yield("\(error)")
                    }
                }
            }
        } _: { fixture in
            var iterator = answers.stream.makeAsyncIterator()
            let socket = try await fixture.joined()
            try await socket.send(#"42["ask",true]"#)
            #expect(try await socket.text() == #"420["question",1]"#)
            // No request has this acknowledgement id.
            try await socket.send("437[0]")
            try await socket.send(#"430["yes",2]"#)
            #expect(await iterator.next() == #""yes",2"#)
            // A second acknowledgement is ignored.
            try await socket.send(#"430["again"]"#)

            try await socket.send(#"42["ask",false]"#)
            #expect(try await socket.text() == #"421["question",1]"#)
            #expect(await iterator.next() == "timeout")

            for _ in 0..<3 { try await socket.send(#"42["ask",true]"#) }
            #expect(await iterator.next() == "tooMany")
            try await socket.send("41")
            #expect(await iterator.next() == "disconnected")
            #expect(await iterator.next() == "disconnected")
        }
    }

    @Test("An event is acknowledged only once")
    func acknowledgementOnce() async throws {
        try await withServer { _ in
        } namespaces: { server in
            server.namespace("/").on("twice") { _, event in
                event.acknowledgement?(json: "1")
                event.acknowledgement?(json: "2")
            }
        } _: { fixture in
            let socket = try await fixture.joined()
            try await socket.send(#"425["twice"]"#)
            #expect(try await socket.text() == "435[1]")
            try await socket.send(#"42["message"]"#)
            #expect(try await socket.text() == #"42["message-back"]"#)
        }
    }

    @Test("Events without a handler go to the handler for all other events")
    func otherEvents() async throws {
        try await withServer { _ in
        } namespaces: { server in
            server.namespace("/").onAnyOther { socket, event in
                socket.emit(event.name, SocketArguments(json: "\(event.arguments.count)"))
            }
        } _: { fixture in
            let socket = try await fixture.joined()
            try await socket.send(#"42["tab\t\"q\" 😀 \ud83d\ude00",1,[2,3],{"a":{}}]"#)
            #expect(try await socket.text() == #"42["tab\u0009\"q\" 😀 😀",3]"#)
            try await socket.send("42[7]")
            #expect(try await socket.text() == #"42["7",0]"#)
        }
    }
}
