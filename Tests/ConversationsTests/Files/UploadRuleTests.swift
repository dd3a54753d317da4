import ConversationsAPI
import Foundation
import HTTPTypes
import NIOCore
import ServiceHost
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

@Suite("Rules of uploads") struct UploadRuleTests {
    @Test("Uploads with the same client message id make one message and one file")
    func clientMessageID() async throws {
        try await withFiles { fixture async throws in
            let path = "\(fixture.path)?clientMessageId=once"
            let answers = try await withThrowingTaskGroup(of: TestHTTPResponse.self) { tasks in
                for number in 0..<6 as Range<UInt8> {
                    tasks.addTask { try await fixture.bo.upload([number], to: path) }
                }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.allSatisfy { $0.status == 200 })
            #expect(Set(answers.map { $0.json["seq"] }).count == 1)
            #expect(try await fixture.bo.upload([9], to: path).json["seq"] == answers[0].json["seq"])
            #expect(fixture.files.count == 1)
            #expect(try await fixture.noted() == 1)
            let links = Set(answers.map { $0.json["data"].string?.split(separator: "?")[0] })
            #expect(links.count == 1)
        }
    }

    @Test("A repeated upload with an idempotency key is sent once")
    func idempotencyKey() async throws {
        try await withFiles { fixture async throws in
            var form = Form()
            form.add(file: [UInt8](repeating: 0, count: 2_000_000), named: "a")
            let headers: HTTPFields = [.idempotencyKey: "k-1"]
            let first = try await fixture.bo.upload(
                form.whole,
                as: Form.contentType,
                to: fixture.path,
                headers: headers
            )
            let again = try await fixture.bo.upload(
                form.whole,
                as: Form.contentType,
                to: fixture.path,
                headers: headers
            )
            #expect(first.status == 200)
            #expect(first.json == again.json)
            #expect(fixture.files.count == 1)
            let other = try await fixture.bo.upload([1, 2], to: fixture.path, headers: headers)
            #expect(other.status == 422)
        }
    }

    @Test("Only members can send files")
    func permission() async throws {
        try await withFiles { fixture async throws in
            let source = ChunkedBody(count: 10, of: ByteBuffer(repeating: 1, count: 10))
            #expect(try await fixture.eve.upload(streaming: source, to: fixture.path).status == 404)
            // The service read no byte of the rejected upload.
            #expect(source.given.value == 0)
            let elsewhere = try await Person(
                .init(application: RoostApplication.id, user: "bo"),
                at: fixture.fixture.service,
                fixture.fixture.auth
            )
            #expect(try await elsewhere.upload([1], to: fixture.path).status == 404)
            #expect(try await fixture.bo.upload([1], to: "/conversations/nothing/messages").status == 404)
            try await fixture.ana.conversations.kick("bo", from: fixture.token)
            #expect(try await fixture.bo.upload([1], to: fixture.path).status == 404)
            #expect(fixture.files.isEmpty)
            #expect(try await fixture.noted() == 0)
        }
    }

    @Test("A user who is kicked during an upload sends no file")
    func kickDuringSend() async throws {
        try await withFiles { fixture async throws in
            let source = ChunkedBody(count: 3, of: ByteBuffer(repeating: 1, count: 10)) { given in
                if given == 2 { try await fixture.ana.conversations.kick("bo", from: fixture.token) }
            }
            #expect(try await fixture.bo.upload(streaming: source, to: fixture.path).status == 404)
            #expect(fixture.files.isEmpty)
            #expect(try await fixture.noted() == 0)
        }
    }

    @Test("Concurrent uploads are limited in total and per user")
    func concurrencyLimit() async throws {
        try await withFiles(change: { ($0.maximumUploads, $0.maximumUploadsOfUser) = (3, 2) }) { fixture async throws in
            let statuses = SharedValue<[Int]>([])
            let third = ChunkedBody(count: 2, of: ByteBuffer(bytes: [3])) { _ in
                let answer = try await fixture.ana.upload([4], to: fixture.path)
                statuses.change { $0.append(answer.status) }
            }
            let second = ChunkedBody(count: 1, of: ByteBuffer(bytes: [2])) { _ in
                let mine = try await fixture.bo.upload([5], to: fixture.path)
                let second = try await fixture.ana.upload(streaming: third, to: fixture.path)
                statuses.change { $0 += [mine.status, second.status] }
            }
            let first = ChunkedBody(count: 1, of: ByteBuffer(bytes: [1])) { _ in
                let answer = try await fixture.bo.upload(streaming: second, to: fixture.path)
                statuses.change { $0.append(answer.status) }
            }
            #expect(try await fixture.bo.upload(streaming: first, to: fixture.path).status == 200)
            #expect(statuses.value == [503, 503, 429, 200, 200])
            #expect(try await fixture.bo.upload([6], to: fixture.path).status == 200)
        }
    }
}

@Suite("Uploads to a full disk", .enabled(if: SmallDisk.isPossible)) struct FullDiskUploadTests {
    @Test("An upload to a full disk responds 507 and leaves no file")
    func fullDisk() async throws {
        try await SmallDisk.with { path in
            try await withFiles(settings: ["BLOBS_PATH": path]) { fixture in
                let large = [UInt8](repeating: 0, count: 2_000_000)
                var form = Form()
                form.add(file: large, named: "a")
                for _ in 0..<3 {
                    let answers = [
                        try await fixture.bo.upload(large, to: fixture.path),
                        try await fixture.bo.upload(form.whole, as: Form.contentType, to: fixture.path),
                    ]
                    for answer in answers {
                        #expect(answer.status == 507, "\(answer.text)")
                        #expect(answer.problem?.code == "storage_full")
                    }
                    try await fixture.expectNothing()
                }
                #expect(try await fixture.bo.upload(Sample.jpeg, to: fixture.path).status == 200)
                try await fixture.bo.send("still here", in: fixture.token)
            }
        }
    }
}
