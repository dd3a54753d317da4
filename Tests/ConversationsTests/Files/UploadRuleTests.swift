import ConversationsAPI
import Foundation
import HTTPTypes
import NIOCore
import ServiceHost
import TestSupport
import Testing
import Wire

/// Who sends files, how many at once, and that a retried one is sent once.
@Suite struct UploadRuleTests {
    @Test func oneClientMessageIdIsOneMessageAndOneFile() async throws {
        try await withFiles { scene async throws in
            let path = "\(scene.path)?clientMessageId=once"
            let answers = try await withThrowingTaskGroup(of: TestAnswer.self) { tasks in
                for number in 0..<6 as Range<UInt8> {
                    tasks.addTask { try await scene.bob.upload([number], to: path) }
                }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.allSatisfy { $0.status == 200 })
            #expect(Set(answers.map { $0.json["seq"] }).count == 1)
            #expect(try await scene.bob.upload([9], to: path).json["seq"] == answers[0].json["seq"])
            #expect(scene.files.count == 1)
            #expect(try await scene.noted() == 1)
            let links = Set(answers.map { $0.json["data"].string?.split(separator: "?")[0] })
            #expect(links.count == 1)
        }
    }

    @Test func anIdempotencyKeyHoldsForFilesToo() async throws {
        try await withFiles { scene async throws in
            var form = Form()
            form.add(file: [UInt8](repeating: 0, count: 2_000_000), named: "a")
            let headers: HTTPFields = [.idempotencyKey: "k-1"]
            let first = try await scene.bob.upload(form.whole, as: Form.contentType, to: scene.path, headers: headers)
            let again = try await scene.bob.upload(form.whole, as: Form.contentType, to: scene.path, headers: headers)
            #expect(first.status == 200)
            #expect(first.json == again.json)
            #expect(scene.files.count == 1)
            let other = try await scene.bob.upload([1, 2], to: scene.path, headers: headers)
            #expect(other.status == 422)
        }
    }

    @Test func onlyMembersSendFiles() async throws {
        try await withFiles { scene async throws in
            let source = Pieces(count: 10, of: ByteBuffer(repeating: 1, count: 10))
            #expect(try await scene.eve.upload(streaming: source, to: scene.path).status == 404)
            // Not a byte was taken from somebody who may not send any.
            #expect(source.given.value == 0)
            let elsewhere = try await Person(
                .init(application: RoostApplication.id, user: "bob"),
                at: scene.scene.service,
                scene.scene.auth
            )
            #expect(try await elsewhere.upload([1], to: scene.path).status == 404)
            #expect(try await scene.bob.upload([1], to: "/conversations/nothing/messages").status == 404)
            try await scene.ann.conversations.kick("bob", from: scene.token)
            #expect(try await scene.bob.upload([1], to: scene.path).status == 404)
            #expect(scene.files.isEmpty)
            #expect(try await scene.noted() == 0)
        }
    }

    @Test func whoIsKickedWhileSendingSaysNothing() async throws {
        try await withFiles { scene async throws in
            let source = Pieces(count: 3, of: ByteBuffer(repeating: 1, count: 10)) { given in
                if given == 2 { try await scene.ann.conversations.kick("bob", from: scene.token) }
            }
            #expect(try await scene.bob.upload(streaming: source, to: scene.path).status == 404)
            #expect(scene.files.isEmpty)
            #expect(try await scene.noted() == 0)
        }
    }

    @Test func soManyAtOnceAndNoMore() async throws {
        try await withFiles(settings: ["UPLOADS_MAX": "3", "UPLOADS_MAX_USER": "2"]) { scene async throws in
            let statuses = Shared<[Int]>([])
            let third = Pieces(count: 2, of: ByteBuffer(bytes: [3])) { _ in
                let answer = try await scene.ann.upload([4], to: scene.path)
                statuses.change { $0.append(answer.status) }
            }
            let second = Pieces(count: 1, of: ByteBuffer(bytes: [2])) { _ in
                let mine = try await scene.bob.upload([5], to: scene.path)
                let hers = try await scene.ann.upload(streaming: third, to: scene.path)
                statuses.change { $0 += [mine.status, hers.status] }
            }
            let first = Pieces(count: 1, of: ByteBuffer(bytes: [1])) { _ in
                let answer = try await scene.bob.upload(streaming: second, to: scene.path)
                statuses.change { $0.append(answer.status) }
            }
            #expect(try await scene.bob.upload(streaming: first, to: scene.path).status == 200)
            #expect(statuses.value == [503, 503, 429, 200, 200])
            #expect(try await scene.bob.upload([6], to: scene.path).status == 200)
        }
    }
}

@Suite(.enabled(if: SmallDisk.isPossible)) struct FullDiskUploadTests {
    @Test func aFullDiskIsToldAndLeavesNothingHalf() async throws {
        try await SmallDisk.with { path in
            try await withFiles(settings: ["BLOBS_PATH": path]) { scene in
                let large = [UInt8](repeating: 0, count: 2_000_000)
                var form = Form()
                form.add(file: large, named: "a")
                for _ in 0..<3 {
                    let answers = [
                        try await scene.bob.upload(large, to: scene.path),
                        try await scene.bob.upload(form.whole, as: Form.contentType, to: scene.path),
                    ]
                    for answer in answers {
                        #expect(answer.status == 507, "\(answer.text)")
                        #expect(answer.problem?.code == "storage_full")
                    }
                    try await scene.expectNothing()
                }
                #expect(try await scene.bob.upload(Sample.jpeg, to: scene.path).status == 200)
                try await scene.bob.say("still here", in: scene.token)
            }
        }
    }
}
