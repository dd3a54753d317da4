import ChildProcesses
import ConversationsAPI
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Wire

/// Files that are stored in a bucket instead of a folder.
@Suite("Files in a bucket") struct BucketTests {
    @Test("A file is stored in the bucket, served, and removed with its message")
    func storage() async throws {
        let server = try await S3Server.shared()
        let prefix = UUID().uuidString
        try await withFiles(settings: server.settings.merging(["S3_PREFIX": prefix]) { $1 }) { fixture async throws in
            let bytes = (0..<9_000_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) }
            let sent = try await fixture.bo.upload(bytes, to: fixture.path)
            #expect(sent.status == 200)
            let kept = try await server.objects(below: "\(prefix)/conversations/")
            #expect(kept.count == 1)
            #expect(fixture.files.isEmpty)

            let link = sent.json["data"].string
            let whole = try await fixture.eve.fetch(link)
            #expect(whole.body == Data(bytes))
            let part = try await fixture.eve.fetch(link, headers: [.range: "bytes=8999990-"])
            #expect(part.status == 206)
            #expect(part.body == Data(bytes.suffix(10)))

            let id = try #require(sent.json["id"].int)
            #expect(try await fixture.bo.ask(.delete, "\(fixture.path)/\(id)").status == 200)
            try await fixture.sweep()
            #expect(try await server.objects(below: "\(prefix)/conversations/").isEmpty)
            #expect(try await fixture.noted() == 0)
        }
    }

    @Test("While the bucket is unavailable, files are rejected and texts are accepted")
    func unavailable() async throws {
        let unusedPort = try LoopbackPort.free()
        let settings = [
            "S3_ENDPOINT": "http://127.0.0.1:\(unusedPort.number)", "S3_BUCKET": "bucket", "S3_ACCESS_KEY": "a",
            "S3_SECRET_KEY": "b",
        ]
        try await withFiles(settings: settings) { fixture async throws in
            let answer = try await fixture.bo.upload([1, 2, 3], to: fixture.path)
            #expect(answer.status == 503)
            #expect(answer.problem?.code == "unavailable")
            #expect(answer.headers[.retryAfter] != nil)
            // The file is noted for removal, because the service cannot know whether the bucket has it.
            #expect(try await fixture.noted() == 1)
            try await fixture.bo.send("words need no bucket", in: fixture.token)
        }
    }

    @Test(
        "A missing or invalid setting is named in the error",
        arguments: [
            (["S3_BUCKET": "bucket"], "S3_ACCESS_KEY"),
            (["S3_BUCKET": "bucket", "S3_ACCESS_KEY": "a"], "S3_SECRET_KEY"),
            (["S3_ENDPOINT": "http://127.0.0.1:1"], "S3_BUCKET"),
            (["S3_BUCKET": "Bucket", "S3_ACCESS_KEY": "a", "S3_SECRET_KEY": "b"], "S3_BUCKET"),
            (["S3_BUCKET": "bucket", "S3_ACCESS_KEY": "a", "S3_SECRET_KEY": "b", "S3_ENDPOINT": "x"], "S3_ENDPOINT"),
            (["S3_BUCKET": "bucket", "S3_ACCESS_KEY": "a", "S3_SECRET_KEY": "b", "S3_PREFIX": "../a"], "S3_PREFIX"),
        ]
    )
    func settings(settings: [String: String], name: String) async throws {
        await #expect {
            try await withFiles(settings: settings) { _ in }
        } throws: { "\($0)".hasPrefix("\(name) ") }
    }
}
