import ConversationsAPI
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing
import Wire

@Suite("Storage quota of conversations") struct QuotaTests {
    @Test("A user at the quota gets 507, and can send files again after deleting some")
    func growth() async throws {
        try await withFiles(settings: ["STORAGE_QUOTA_BYTES": "5000"]) { fixture async throws in
            let file = [UInt8](repeating: 1, count: 2_000)
            let first = try await fixture.bo.upload(file, to: fixture.path)
            #expect(first.status == 200)
            #expect(try await fixture.bo.upload(file, to: fixture.path).status == 200)
            for _ in 0..<3 {
                let refused = try await fixture.bo.upload(file, to: fixture.path)
                #expect(refused.status == 507)
                #expect(refused.problem?.code == "storage_quota_exceeded")
                #expect(refused.problem?.detail.contains("5000") == true)
            }
            #expect(try await fixture.stored(by: "bo") == 4_000)
            #expect(fixture.files.count == 2)
            // Neither another user's files nor messages without a file count.
            #expect(try await fixture.ana.upload(file, to: fixture.path).status == 200)
            #expect(try await fixture.bo.ask(.post, fixture.path, #"{"data": "hello"}"#).status == 200)

            let id = try #require(first.json["id"].int)
            #expect(try await fixture.bo.ask(.delete, "\(fixture.path)/\(id)").status == 200)
            try await eventually("freed") { try await fixture.stored(by: "bo") == 2_000 }
            #expect(try await fixture.bo.upload(file, to: fixture.path).status == 200)

            try await fixture.ana.conversations.delete(fixture.token)
            try await eventually("freed") {
                let (bo, ana) = (try await fixture.stored(by: "bo"), try await fixture.stored(by: "ana"))
                return bo == 0 && ana == 0
            }
        }
    }

    @Test("Concurrent uploads do not exceed the quota")
    func concurrent() async throws {
        try await withFiles(settings: ["STORAGE_QUOTA_BYTES": "3500"]) { fixture async throws in
            let statuses = try await withThrowingTaskGroup(of: Int.self) { tasks in
                for number in 0..<8 as Range<UInt8> {
                    tasks.addTask {
                        let file = [UInt8](repeating: number, count: 1_000)
                        return try await fixture.bo.upload(file, to: fixture.path).status
                    }
                }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.count { $0 == 200 } == 3)
            #expect(statuses.count { $0 == 507 } == 5)
            #expect(try await fixture.stored(by: "bo") == 3_000)
        }
    }

    @Test("A quota of 0 means no limit")
    func unlimited() async throws {
        try await withFiles(settings: ["STORAGE_QUOTA_BYTES": "0"]) { fixture async throws in
            #expect(try await fixture.bo.upload([UInt8](repeating: 1, count: 2_000), to: fixture.path).status == 200)
        }
    }
}

extension FileFixture {
    fileprivate func stored(by user: String) async throws -> Int64 {
        try await fixture.service.database.pool.one(
            "SELECT stored_bytes FROM users WHERE application_id = \(ConversationFixture.application) AND user_id = \(user)",
            as: { try $0.int64("stored_bytes") }
        )
    }
}
