import Foundation
import Postgres
import ServiceHost
import Testing
import TestSupport

@testable import AuthServer

@Suite("Rows that auth cannot read") struct PoisonTests {
    @Test("A mail of a kind that this release does not know delays no other")
    func mail() async throws {
        try await withMail { scene in
            try await scene.register("ana", "ana@example.org")
            _ = try await scene.mails(to: "ana@example.org")
            let now = scene.clock.now
            try await scene.auth.service.database.pool.run(
                """
                INSERT INTO mails (mail_id, kind, address, created_at, due_at)
                VALUES (gen_random_uuid(), 'future', 'bo@example.org', \(now), \(now))
                """
            )
            try await scene.register("cid", "cid@example.org")
            _ = try await scene.mails(to: "cid@example.org")
            let database = scene.auth.service.database
            try await PoisonTest(.mail, in: database, now: { scene.clock.now }).check()
        }
    }
}
