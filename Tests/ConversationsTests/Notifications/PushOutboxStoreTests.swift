import ConversationsAPI
import Postgres
import TestSupport
import Testing

@testable import ConversationsServer

/// Who has a conversation has all of it, alone, for as long as he says.
@Suite struct PushOutboxStoreTests {
    @Test func exclusiveClaim() async throws {
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

            // What came later has its turn once the first is done.
            try await store.delete(one)
            let next = try await store.claim(by: "three", limit: 10, seconds: 60).values
            #expect(next.map(\.id) == [fixture.conversation.id])
            #expect(next.first?.seqs == 4...4)
        }
    }

    @Test func aClaimEndsByItselfOrIsGivenBack() async throws {
        try await withStore { fixture in
            _ = try await fixture.writeShards.write(fixture.draft())
            let store = PushOutboxStore(database: fixture.pool)

            let died = try await store.claim(by: "one", limit: 1, seconds: 0).values
            let taken = try await store.claim(by: "two", limit: 1, seconds: 60).values
            #expect(taken.map(\.rows) == died.map(\.rows))
            #expect(try await store.renew(died, by: "one", seconds: 60) == 0)
            #expect(try await store.renew(taken, by: "two", seconds: 60) == 1)
            // Who has lost it cannot give it away.
            try await store.release(died, by: "one")
            #expect(try await store.claim(by: "three", limit: 1, seconds: 60).values.isEmpty)
            // Who claims anew begins anew.
            #expect(try await store.claim(by: "two", limit: 1, seconds: 60).values.count == 1)

            try await store.release(taken, by: "two")
            #expect(try await store.claim(by: "three", limit: 1, seconds: 60).values.count == 1)
        }
    }

    @Test func concurrentClaims() async throws {
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

    @Test func fairShare() async throws {
        try await withStore { fixture in
            let other = try await fixture.newConversation()
            for _ in 0..<150 { _ = try await fixture.writeShards.write(fixture.draft()) }
            _ = try await fixture.writeShards.write(fixture.draft(in: other))
            let claimed = try await PushOutboxStore(database: fixture.pool).claim(by: "one", limit: 10, seconds: 60)
                .values
            #expect(claimed.map(\.seqs) == [1...100, 1...1])
        }
    }

    @Test func claimedRows() async throws {
        try await withStore { fixture in
            let other = try await fixture.newConversation()
            _ = try await fixture.writeShards.write(fixture.draft())
            // More of it than is looked at.
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

    @Test func waitingRows() async throws {
        try await withStore { fixture in
            for _ in 0..<300 { _ = try await fixture.writeShards.write(fixture.draft()) }
            let lag = try await PushOutboxStore(database: fixture.pool).lag()
            #expect(lag.waiting == 300)
            #expect(lag.oldest >= 0)
            #expect(lag.oldest < 60)
        }
    }
}
