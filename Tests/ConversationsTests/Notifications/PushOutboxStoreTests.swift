import ConversationsAPI
import Postgres
import TestSupport
import Testing

@testable import ConversationsServer

/// Claims of conversations in the outbox, each by one instance at a time.
@Suite("Claims of the push outbox") struct PushOutboxStoreTests {
    @Test("A claim has all rows of a conversation and excludes other claims")
    func exclusiveClaim() async throws {
        try await withStore { fixture in
            let other = try await fixture.newConversation()
            for number in 0..<3 {
                _ = try await fixture.writeShards.write(fixture.draft("\(number)"))
                _ = try await fixture.writeShards.write(fixture.draft("\(number)", in: other))
            }
            let store = PushOutboxStore(database: fixture.pool)

            let one = try await store.claim(by: "one", limit: 1, seconds: 60).values
            #expect(one.map(\.id) == [fixture.conversation.id])
            #expect(one.first?.seqs == 1...3)
            #expect(one.first?.rows.count == 3)
            _ = try await fixture.writeShards.write(fixture.draft("later"))
            let two = try await store.claim(by: "two", limit: 10, seconds: 60).values
            #expect(two.map(\.id) == [other.id])
            #expect(try await store.claim(by: "three", limit: 10, seconds: 60).values.isEmpty)

            // Later rows can be claimed once the first claim is done.
            try await store.delete(one)
            let next = try await store.claim(by: "three", limit: 10, seconds: 60).values
            #expect(next.map(\.id) == [fixture.conversation.id])
            #expect(next.first?.seqs == 4...4)
        }
    }

    @Test("A claim ends when it expires or is released")
    func expiredClaim() async throws {
        try await withStore { fixture in
            _ = try await fixture.writeShards.write(fixture.draft())
            let store = PushOutboxStore(database: fixture.pool)

            let expired = try await store.claim(by: "one", limit: 1, seconds: 0).values
            let taken = try await store.claim(by: "two", limit: 1, seconds: 60).values
            #expect(taken.map(\.rows) == expired.map(\.rows))
            #expect(try await store.renew(expired, by: "one", seconds: 60) == 0)
            #expect(try await store.renew(taken, by: "two", seconds: 60) == 1)
            // An expired claim cannot be released.
            try await store.release(expired, by: "one")
            #expect(try await store.claim(by: "three", limit: 1, seconds: 60).values.isEmpty)
            // The owner of a claim can claim the same rows again.
            #expect(try await store.claim(by: "two", limit: 1, seconds: 60).values.count == 1)

            try await store.release(taken, by: "two")
            #expect(try await store.claim(by: "three", limit: 1, seconds: 60).values.count == 1)
        }
    }

    @Test("Concurrent claims have different conversations")
    func concurrentClaims() async throws {
        try await withStore { fixture in
            var conversations = [fixture.conversation]
            for _ in 0..<19 { conversations.append(try await fixture.newConversation()) }
            for token in conversations {
                for _ in 0..<3 { _ = try await fixture.writeShards.write(fixture.draft(in: token)) }
            }
            let claimed = try await withThrowingTaskGroup(of: [ClaimedConversation].self) { tasks in
                for number in 0..<8 {
                    tasks.addTask {
                        let store = PushOutboxStore(database: fixture.pool)
                        return try await store.claim(by: "\(number)", limit: 4, seconds: 60).values
                    }
                }
                return try await tasks.reduce(into: []) { $0 += $1 }
            }
            #expect(Set(claimed.map(\.id)).count == claimed.count)
            #expect(claimed.allSatisfy { $0.rows.count == 3 })
            var left = try await PushOutboxStore(database: fixture.pool).claim(by: "last", limit: 32, seconds: 60)
                .values
            left += claimed
            #expect(Set(left.map(\.id)) == Set(conversations.map(\.id)))
        }
    }

    @Test("A claim has at most 100 rows of a conversation")
    func fairShare() async throws {
        try await withStore { fixture in
            let other = try await fixture.newConversation()
            for _ in 0..<150 { _ = try await fixture.writeShards.write(fixture.draft()) }
            _ = try await fixture.writeShards.write(fixture.draft(in: other))
            let claimed = try await PushOutboxStore(database: fixture.pool).claim(by: "one", limit: 10, seconds: 60)
                .values
            #expect(claimed.map(\.seqs) == [1...100, 1...1])
        }
    }

    @Test("Many rows of a claimed conversation do not hide other conversations")
    func claimedRows() async throws {
        try await withStore { fixture in
            let other = try await fixture.newConversation()
            _ = try await fixture.writeShards.write(fixture.draft())
            // More rows than a claim reads.
            try await fixture.pool.run(
                """
                INSERT INTO outbox (conversation_id, kind, from_seq, to_seq, written_at)
                SELECT conversation_id, kind, from_seq + n, to_seq + n, written_at FROM outbox, generate_series(1, 1500) AS n
                """
            )
            _ = try await fixture.writeShards.write(fixture.draft(in: other))
            let store = PushOutboxStore(database: fixture.pool)

            let one = try await store.claim(by: "one", limit: 1, seconds: 60).values
            let two = try await store.claim(by: "two", limit: 1, seconds: 60).values
            #expect(one.map(\.id) == [fixture.conversation.id])
            #expect(two.map(\.id) == [other.id])

            for (claimed, claimant) in [(one, "one"), (two, "two")] {
                try await store.release(claimed, by: claimant, after: claimant == "one" ? 60 : 0)
            }
            #expect(try await store.claim(by: "three", limit: 9, seconds: 60).values.map(\.id) == [other.id])
        }
    }

    @Test("The lag has the number of rows and the age of the oldest one")
    func waitingRows() async throws {
        try await withStore { fixture in
            for _ in 0..<300 { _ = try await fixture.writeShards.write(fixture.draft()) }
            let lag = try await PushOutboxStore(database: fixture.pool).lag()
            #expect(lag.waiting == 300)
            #expect(lag.oldest >= 0)
            #expect(lag.oldest < 60)
        }
    }
}
