import ConversationsAPI
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing
import Wire

@Suite("Storage quota of conversations") struct QuotaTests {
    @Test("A user at the quota gets 507, and sends files again after deleting some")
    func growth() async throws {
        try await withFiles(settings: ["STORAGE_QUOTA_BYTES": "5000"]) { scene async throws in
            let file = [UInt8](repeating: 1, count: 2_000)
            let first = try await scene.bob.upload(file, to: scene.path)
            #expect(first.status == 200)
            #expect(try await scene.bob.upload(file, to: scene.path).status == 200)
            for _ in 0..<3 {
                let refused = try await scene.bob.upload(file, to: scene.path)
                #expect(refused.status == 507 && refused.problem?.code == "storage_quota_exceeded")
                #expect(refused.problem?.detail.contains("5000") == true)
            }
            #expect(try await scene.stored(by: "bob") == 4_000)
            #expect(scene.files.count == 2)
            // Neither another user's files nor messages without a file count.
            #expect(try await scene.ann.upload(file, to: scene.path).status == 200)
            #expect(try await scene.bob.ask(.post, scene.path, #"{"data": "hello"}"#).status == 200)

            let id = try #require(first.json["id"].int)
            #expect(try await scene.bob.ask(.delete, "\(scene.path)/\(id)").status == 200)
            try await eventually("freed") { try await scene.stored(by: "bob") == 2_000 }
            #expect(try await scene.bob.upload(file, to: scene.path).status == 200)

            try await scene.ann.conversations.delete(scene.token)
            try await eventually("freed") {
                let (bob, ann) = (try await scene.stored(by: "bob"), try await scene.stored(by: "ann"))
                return bob == 0 && ann == 0
            }
        }
    }

    @Test("Uploads at the same time do not exceed the quota")
    func concurrent() async throws {
        try await withFiles(settings: ["STORAGE_QUOTA_BYTES": "3500"]) { scene async throws in
            let statuses = try await withThrowingTaskGroup(of: Int.self) { tasks in
                for number in 0..<8 as Range<UInt8> {
                    tasks.addTask {
                        let file = [UInt8](repeating: number, count: 1_000)
                        return try await scene.bob.upload(file, to: scene.path).status
                    }
                }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.count { $0 == 200 } == 3)
            #expect(statuses.count { $0 == 507 } == 5)
            #expect(try await scene.stored(by: "bob") == 3_000)
        }
    }

    @Test("A quota of 0 is no limit")
    func none() async throws {
        try await withFiles(settings: ["STORAGE_QUOTA_BYTES": "0"]) { scene async throws in
            #expect(try await scene.bob.upload([UInt8](repeating: 1, count: 2_000), to: scene.path).status == 200)
        }
    }
}

extension FileScene {
    fileprivate func stored(by user: String) async throws -> Int64 {
        try await scene.service.database.pool.one(
            "SELECT stored_bytes FROM users WHERE application_id = \(Scene.application) AND user_id = \(user)",
            as: { try $0.int64("stored_bytes") }
        )
    }
}
