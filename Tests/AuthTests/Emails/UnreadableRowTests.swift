import Foundation
import Postgres
import ServiceHost
import Testing
import TestSupport

@testable import AuthServer

@Suite("Rows that auth cannot read") struct UnreadableRowTests {
    @Test("A mail of a kind that this release does not know does not delay other mails")
    func email() async throws {
        try await withMail { fixture in
            try await fixture.register("ana", "ana@example.org")
            _ = try await fixture.mails(to: "ana@example.org")
            let now = fixture.clock.now
            try await fixture.auth.service.database.pool.run(
                """
                INSERT INTO emails (email_id, kind, address, created_at, due_at)
                VALUES (gen_random_uuid(), 'future', 'bo@example.org', \(now), \(now))
                """
            )
            try await fixture.register("cid", "cid@example.org")
            _ = try await fixture.mails(to: "cid@example.org")
            let database = fixture.auth.service.database
            try await PoisonTest(.email, in: database, now: { fixture.clock.now }).check()
        }
    }
}
