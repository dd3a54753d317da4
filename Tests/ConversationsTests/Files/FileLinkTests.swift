import ConversationsAPI
import ConversationsServer
import Foundation
import HTTPTypes
import NIOCore
import Postgres
import TestSupport
import Testing
import Wire

/// A signed link is the only way to read a file.
@Suite("File links") struct FileLinkTests {
    @Test("Every response with a file message contains a working link")
    func links() async throws {
        try await withFiles { fixture async throws in
            let sent = try await fixture.bo.upload(Sample.jpeg, to: fixture.path)
            let history = try await fixture.ana.ask(.get, fixture.path).json["messages"][0]
            let changes = try await fixture.ana.ask(.get, "/conversations/\(fixture.token)/changes?after=0").json[
                "messages"
            ]
            let shown = try await fixture.ana.ask(.get, "/conversations/\(fixture.token)").json["lastMessage"]
            let listed = try await fixture.ana.ask(.get, "/conversations").json["conversations"][0]["lastMessage"]
            let labelled = try await fixture.ana.ask(.put, "/conversations/\(fixture.token)/label", #"{"label": "x"}"#)
            let joined = try await fixture.ana.ask(.post, "/conversations/\(fixture.token)/join")

            for message in [
                sent.json, history, changes.array.last ?? .null, shown, listed, labelled.json["lastMessage"],
                joined.json["lastMessage"],
            ] {
                #expect(message["seq"] == sent.json["seq"])
                #expect(message["file"]["size"].int == Sample.jpeg.count)
                let fetched = try await fixture.eve.fetch(message["data"].string)
                #expect(fetched.status == 200)
                #expect(fetched.body == Data(Sample.jpeg))
            }
        }
    }

    @Test("A link is valid for about a day, and then responds 403")
    func linkLifetime() async throws {
        let passed = SharedValue(0.0)
        let auth = FakeAuth()
        try await TestService.with(
            ConversationsService.self,
            peers: .with(["auth": auth.client]),
            now: { Date().addingTimeInterval(passed.value) }
        ) { service in
            let ana = try await Person(
                .init(application: ConversationFixture.application, user: "ana"),
                at: service,
                auth
            )
            let token = try await ana.conversations.create(ConversationDraft(label: "x")).token
            let path = "/conversations/\(token)/messages"
            let began = ContinuousClock.now
            let link = try await ana.upload(Sample.jpeg, to: path).json["data"].string
            let lifetime = try #require(try await ana.fetch(link).headers[.cacheControl]?.split(separator: "=").last)
            let seconds = try #require(Int(lifetime.prefix { $0.isNumber }))
            // The lifetime is a day, rounded up to five minutes, minus the seconds since the upload.
            let elapsed = Int(began.duration(to: .now).components.seconds)
            #expect((86_400 - elapsed...86_700).contains(seconds))

            passed.change { $0 = Double(seconds) - 600 }
            #expect(try await ana.fetch(link).status == 200)
            passed.change { $0 = Double(seconds) + 1 }
            let late = try await ana.fetch(link)
            #expect(late.status == 403)
            #expect(late.problem?.code == "link_expired")
        }
    }

    @Test("A forged or altered link is rejected")
    func invalidLinks() async throws {
        try await withFiles { fixture async throws in
            let link = try #require(try await fixture.bo.upload(Sample.jpeg, to: fixture.path).json["data"].string)
            let other = try await fixture.ana.conversations.create(ConversationDraft(label: "other"))
            let second = try #require(
                try await fixture.ana.upload(Sample.zip, to: "/conversations/\(other.token)/messages").json["data"]
                    .string
            )
            let parts = link.split(separator: "?")
            let (path, query) = (parts[0], parts[1])
            let signature = query.suffix(22)
            let key = try #require(path.split(separator: "/").last)
            let id = "\(fixture.fixture.conversation.id)"
            let forged = [
                "\(path)", "\(path)?\(query.dropLast())", "\(path)?\(query)A", "\(path)?\(query.dropLast(22))",
                "\(path)?expires=99999999999&signature=\(signature)", "\(path)?signature=\(signature)",
                "\(path)?expires=&signature=\(signature)", "\(path)?\(query.replacing("expires=", with: "expires=0"))",
                "\(path)?\(query.replacing("expires=", with: "expires=%2B"))",
                "\(path)?\(second.split(separator: "?")[1])", "\(second.split(separator: "?")[0])?\(query)",
                "\(path.dropLast(id.count))\(other.id)?\(query)", "\(path.dropLast())?\(query)", "\(path)0?\(query)",
                "\(path.dropLast(key.count))\(key.uppercased())?\(query)",
                "\(path.dropLast(key.count))..%2F..%2F\(key)?\(query)", "\(path.dropLast(key.count))%00?\(query)",
            ]
            for link in forged {
                let answer = try await fixture.ana.fetch(link)
                #expect([403, 404].contains(answer.status), "\(link): \(answer.status)")
                if !link.contains("%00") { #expect(answer.problem?.code == "link_invalid", "\(link)") }
            }
            #expect(try await fixture.ana.fetch(link).status == 200)
        }
    }

    @Test("A single byte range responds 206, an unsatisfiable one 416, any other the whole file")
    func ranges() async throws {
        try await withFiles { fixture async throws in
            let bytes = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 / 4) }
            let link = try await fixture.bo.upload(bytes, to: fixture.path).json["data"].string
            let parts: [(String, Range<Int>)] = [
                ("bytes=0-0", 0..<1), ("bytes=10-19", 10..<20), ("bytes=990-", 990..<1_000), ("bytes=-5", 995..<1_000),
                ("bytes=990-5000", 990..<1_000), ("bytes=-5000", 0..<1_000), ("Bytes=1-2", 1..<3),
                ("bytes=5-99999999999999999999", 5..<1_000),
            ]
            for (range, expected) in parts {
                let answer = try await fixture.ana.fetch(link, headers: [.range: range])
                #expect(answer.status == 206, "\(range)")
                #expect(answer.body == Data(bytes[expected]))
                let upper = expected.upperBound - 1
                #expect(answer.headers[.contentRange] == "bytes \(expected.lowerBound)-\(upper)/1000")
                #expect(answer.headers[.contentLength] == "\(expected.count)")
            }
            for range in ["bytes=1000-", "bytes=1000-2000", "bytes=-0"] {
                let answer = try await fixture.ana.fetch(link, headers: [.range: range])
                #expect(answer.status == 416, "\(range)")
                #expect(answer.headers[.contentRange] == "bytes */1000")
                #expect(answer.problem?.code == "range_not_satisfiable")
            }
            let whole = [
                "bytes=", "bytes=-", "bytes=5-1", "bytes=a-b", "bytes=0-1,5-6", "lines=0-1", "bytes 0-1", "bytes=+1-2",
            ]
            for range in whole {
                let answer = try await fixture.ana.fetch(link, headers: [.range: range])
                #expect(answer.status == 200, "\(range)")
                #expect(answer.body == Data(bytes))
            }
        }
    }

    @Test("A known entity tag responds 304, and `If-Range` compares it")
    func notModified() async throws {
        try await withFiles { fixture async throws in
            let link = try await fixture.bo.upload(Sample.jpeg, to: fixture.path).json["data"].string
            let first = try await fixture.ana.fetch(link)
            let tag = try #require(first.headers[.eTag])
            for known in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
                let answer = try await fixture.ana.fetch(link, headers: [.ifNoneMatch: known])
                #expect(answer.status == 304, "\(known)")
                #expect(answer.body.isEmpty)
                #expect(answer.headers[.eTag] == tag)
                #expect(answer.headers[.cacheControl]?.hasPrefix("private, max-age=") == true)
            }
            #expect(try await fixture.ana.fetch(link, headers: [.ifNoneMatch: "\"x\""]).status == 200)
            let same = try await fixture.ana.fetch(link, headers: [.range: "bytes=0-1", .ifRange: tag])
            #expect(same.status == 206)
            for other in ["\"x\"", "W/\(tag)", "Sat, 21 Nov 2026 07:00:00 GMT"] {
                let answer = try await fixture.ana.fetch(link, headers: [.range: "bytes=0-1", .ifRange: other])
                #expect(answer.status == 200)
            }
        }
    }

    @Test("HEAD responds with the file's headers and no body")
    func head() async throws {
        try await withFiles { fixture async throws in
            let link = try await fixture.bo.upload(Sample.jpeg, to: fixture.path).json["data"].string
            let head = try await fixture.ana.fetch(link, .head, headers: [.range: "bytes=0-1"])
            #expect(head.status == 200)
            #expect(head.body.isEmpty)
            #expect(head.headers[.contentLength] == "\(Sample.jpeg.count)")
            #expect(head.headers[.contentType] == "image/jpeg")
            #expect(head.headers[.acceptRanges] == "bytes")
            #expect(try await fixture.ana.fetch(link, .post).status == 405)
        }
    }

    @Test("A file is removed with its message or conversation")
    func removal() async throws {
        try await withFiles { fixture async throws in
            let pool = fixture.fixture.service.database.pool
            var sent: [JSONValue] = []
            for _ in 0..<3 { sent.append(try await fixture.bo.upload(Sample.jpeg, to: fixture.path).json) }
            let links = sent.map { $0["data"].string }
            #expect(fixture.files.count == 3)

            let first = "\(fixture.path)/\(try #require(sent[0]["id"].int))"
            #expect(try await fixture.bo.ask(.patch, first, #"{"data": "x"}"#).status == 422)
            #expect(try await fixture.ana.fetch(links[0]).status == 200)
            let deleted = try await fixture.bo.ask(.delete, first)
            #expect(deleted.json["data"].string == "")
            #expect(deleted.json["file"] == .null)
            // The row itself is deleted, as with a deleted conversation.
            try await pool.run("DELETE FROM messages WHERE seq = 2")
            #expect(try await fixture.ana.fetch(links[0]).status == 404)
            #expect(try await fixture.ana.fetch(links[1]).status == 404)
            #expect(try await fixture.ana.fetch(links[2]).status == 200)
            try await fixture.sweep()
            #expect(fixture.files.count == 1)
            #expect(try await fixture.noted() == 1)

            try await pool.run("DELETE FROM conversations")
            #expect(try await fixture.ana.fetch(links[2]).status == 404)
            try await fixture.sweep()
            #expect(fixture.files.isEmpty)
            #expect(try await fixture.noted() == 0)
        }
    }

    @Test("The periodic cleanup removes files whose upload never became a message")
    func sweepAfterCrash() async throws {
        try await withFiles { fixture async throws in
            let pool = fixture.fixture.service.database.pool
            let link = try await fixture.bo.upload(Sample.jpeg, to: fixture.path).json["data"].string
            for name in ["aa/aaaaaaaaaaaaaaaaaaaaaaaaaa", "bb/bbbbbbbbbbbbbbbbbbbbbbbbbb"] {
                let file = URL(filePath: "\(fixture.folder)/conversations/\(name)")
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(),
                    withIntermediateDirectories: true
                )
                try Data([1]).write(to: file)
            }
            // The process crashed between writing the file and the message: long ago for one file, just now for the other.
            // The files are created before their rows, because the service's own cleanup may run at any time.
            try await pool.run(
                """
                INSERT INTO files (conversation_id, key, due_at) VALUES
                    (1, 'aaaaaaaaaaaaaaaaaaaaaaaaaa', clock_timestamp() - interval '1 second'),
                    (1, 'bbbbbbbbbbbbbbbbbbbbbbbbbb', clock_timestamp() + interval '1 hour')
                """
            )
            try await fixture.sweep()
            #expect(fixture.files.count == 2)
            #expect(fixture.files.contains("bb/bbbbbbbbbbbbbbbbbbbbbbbbbb"))
            #expect(try await fixture.noted() == 2)
            #expect(try await fixture.ana.fetch(link).status == 200)
        }
    }

    @Test("A message is not written when its file was already due for removal")
    func expiredUpload() async throws {
        try await withFiles { fixture async throws in
            let pool = fixture.fixture.service.database.pool
            // Simulates an upload that takes longer than the limit for uploads.
            let source = ChunkedBody(count: 2, of: ByteBuffer(bytes: [1])) { _ in
                try await pool.run("UPDATE files SET due_at = clock_timestamp()")
            }
            #expect(try await fixture.bo.upload(streaming: source, to: fixture.path).status == 500)
            try await fixture.expectNothing()
            try await fixture.bo.send("the write shard continues", in: fixture.token)
        }
    }
}

extension FileFixture {
    /// Waits until no file is due for removal; the service runs its own cleanup.
    func sweep() async throws {
        try await eventually {
            try await fixture.service.database.pool.one(
                "SELECT count(*) AS count FROM files WHERE due_at <= clock_timestamp()",
                as: { try $0.int("count") == 0 }
            )
        }
    }
}
