import NIOCore
import SocketIO
import Testing

@Suite("Rooms") struct RoomTests {
    /// Joins a room and waits for the acknowledgement.
    private func join(_ socket: WebSocket, _ room: String) async throws {
        try await socket.send("421[\"join\",\"\(room)\"]")
        #expect(try await socket.text() == "431[]")
    }

    private func room(_ name: String) -> SocketRoom { SocketRoom("\"\(name)\"") }

    @Test("A broadcast reaches each member of its rooms once, without members of excluded rooms", arguments: [1, 3])
    func roomBroadcast(loops: Int) async throws {
        try await withServer(loops: loops) { fixture in
            let chat = fixture.server.namespace("/")
            var sockets: [WebSocket] = []
            for _ in 0..<4 { sockets.append(try await fixture.joined()) }
            for socket in sockets.prefix(3) { try await join(socket, "a") }
            for socket in sockets.suffix(2) { try await join(socket, "b") }

            chat.to(room("a"), room("b")).emit("said", SocketArguments(json: "1"))
            chat.to(room("a")).except(rooms: room("b")).emit("said", SocketArguments(json: "2"))
            chat.to(room("nobody")).emit("said", SocketArguments(json: "3"))
            chat.to(rooms: []).emit("said", SocketArguments(json: "4"))
            chat.emit("end")

            let expected = [[1, 2], [1, 2], [1], [1]]
            for (socket, numbers) in zip(sockets, expected) {
                for number in numbers { #expect(try await socket.text() == "42[\"said\",\(number)]") }
                #expect(try await socket.text() == #"42["end"]"#)
            }
        }
    }

    @Test("A sender's broadcast reaches other members only, in order")
    func excludedSender() async throws {
        try await withServer { _ in
        } namespaces: { server in
            server.namespace("/").on("say") { socket, event in
                socket.to("\"a\"").emit("said", event.arguments)
                socket.emit("done")
                socket.to("\"a\"").emit("said", event.arguments)
            }
        } _: { fixture in
            let ana = try await fixture.joined()
            let bo = try await fixture.joined()
            for socket in [ana, bo] { try await join(socket, "a") }
            for number in 1...3 { try await ana.send("42[\"say\",\(number)]") }
            try await ana.send(#"42["publish","a",0]"#)
            for _ in 1...3 { #expect(try await ana.text() == #"42["done"]"#) }
            #expect(try await ana.text() == #"42["published",0]"#)
            for number in [1, 1, 2, 2, 3, 3] { #expect(try await bo.text() == "42[\"said\",\(number)]") }
            #expect(try await bo.text() == #"42["published",0]"#)
        }
    }

    /// All messages are sent in one tick, so they share frames.
    @Test("Messages of one tick keep their order for members that leave and join meanwhile")
    func orderInOneTick() async throws {
        try await withServer { _ in
        } namespaces: { server in
            let chat = server.namespace("/")
            chat.on("mix") { socket, _ in
                var number = 0
                func say(_ target: SocketBroadcast) {
                    number += 1
                    target.emit("n", SocketArguments(json: "\(number)"))
                }
                for _ in 0..<3 {
                    say(chat.to("\"a\""))
                    say(chat.to("\"a\""))
                    say(chat.to("\"b\""))
                    number += 1
                    socket.emit("n", SocketArguments(json: "\(number)"))
                    say(chat.to("\"a\""))
                    socket.leave("\"a\"")
                    say(chat.to("\"a\""))
                    socket.join("\"a\"")
                    say(chat.to("\"a\"", "\"b\""))
                }
                chat.emit("end")
            }
        } _: { fixture in
            let mover = try await fixture.joined()
            let stayer = try await fixture.joined()
            for socket in [mover, stayer] {
                try await join(socket, "a")
                try await join(socket, "b")
            }
            try await mover.send(#"42["mix"]"#)
            var seen: [[Int]] = []
            for socket in [mover, stayer] {
                var numbers: [Int] = []
                while case let text = try await socket.text(), text != #"42["end"]"# {
                    numbers.append(try Int(text.dropFirst(7).dropLast()).unwrapped())
                }
                seen.append(numbers)
            }
            // Each round has seven numbers. Only the moving member receives the fourth, and it misses the sixth.
            #expect(seen[0] == (1...21).filter { $0 % 7 != 6 })
            #expect(seen[1] == (1...21).filter { $0 % 7 != 4 })
        }
    }

    @Test("A polling member receives broadcasts in its protocol revision")
    func pollingMember() async throws {
        try await withServer { fixture in
            let socket = try await fixture.joined()
            try await join(socket, "a")
            let client = try await fixture.polling()
            #expect(try await client.post("40\u{1e}421[\"join\",\"a\"]").body == "ok")
            _ = try await client.fetch(until: "auth")
            let old = try await fixture.polling(revision: 3)
            #expect(try await old.post(#"15:421["join","a"]"#).body == "ok")
            _ = try await old.fetch(until: "auth")

            try await socket.send(#"42["publish","a",1]"#)
            #expect(try await client.fetch().body == #"42["published",1]"#)
            #expect(try await old.fetch().body == #"17:42["published",1]"#)
            #expect(try await socket.text() == #"42["published",1]"#)
        }
    }

    @Test("A broadcast can carry binary data")
    func binary() async throws {
        try await withServer { fixture in
            let new = try await fixture.joined()
            let old = try await fixture.webSocket(revision: 3)
            _ = try await old.text()
            _ = try await old.text()
            for socket in [new, old] { try await join(socket, "a") }
            let indexholder = #"{"_indexholder":true,"num":0}"#
            let arguments = SocketArguments(json: indexholder, attachments: [ByteBuffer(bytes: [1, 2])])
            fixture.server.namespace("/").to(room("a")).emit("bytes", arguments)
            for socket in [new, old] { #expect(try await socket.text() == "451-[\"bytes\",\(indexholder)]") }
            #expect(try await new.frame() == .binary([1, 2]))
            #expect(try await old.frame() == .binary([4, 1, 2]))
        }
    }

    @Test("Broadcasts reach the remaining members after others have left")
    func membership() async throws {
        try await withServer { fixture in
            var sockets: [WebSocket] = []
            for _ in 0..<20 {
                sockets.append(try await fixture.joined())
                try await join(try sockets.last.unwrapped(), "a")
            }
            // Every third member leaves.
            for index in stride(from: 0, to: 20, by: 3) {
                try await sockets[index].send("1")
                _ = try await sockets[index].closeCode()
            }
            for (index, socket) in sockets.enumerated() where index % 3 != 0 {
                fixture.server.namespace("/").to(room("a")).emit("n")
                for other in sockets.indices where other % 3 != 0 {
                    #expect(try await sockets[other].text() == #"42["n"]"#)
                }
                try await socket.send(#"42["message"]"#)
                #expect(try await socket.text() == #"42["message-back"]"#)
            }
        }
    }

    @Test("All members of a room can be moved to another room or disconnected")
    func disconnectRoom() async throws {
        try await withServer { fixture in
            let ana = try await fixture.joined()
            let bo = try await fixture.joined()
            try await join(ana, "a")
            let chat = fixture.server.namespace("/")
            chat.to(room("a")).join("b")
            chat.to("b").emit("moved")
            #expect(try await ana.text() == #"42["moved"]"#)
            chat.to(room("a")).disconnect(close: true)
            #expect(try await ana.text() == "41")
            #expect(try await ana.closeCode() == nil)
            try await bo.send(#"42["message"]"#)
            #expect(try await bo.text() == #"42["message-back"]"#)
        }
    }
}
