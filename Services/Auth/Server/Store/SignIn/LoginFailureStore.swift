import Foundation
import Postgres

/// The table `login_failures`.
struct LoginFailureStore {
    let db: any PostgresExecutor

    struct Count: Sendable {
        var bucket: Data
        var failures: Int
        var since: Date
    }

    func counts(of buckets: [Data], since start: Date) async throws -> [Count] {
        try await db.all(
            """
            SELECT bucket, failures, since
            FROM login_failures
            WHERE bucket = ANY(\(buckets)) AND since > \(start)
            """,
            as: Count.init(row:)
        )
    }

    /// Counts one more failure in each bucket; a bucket whose window began before `start` starts again at 1.
    ///
    /// The buckets are sorted to prevent deadlocks between requests with common buckets.
    func add(to buckets: [Data], windowsSince start: Date, now: Date) async throws -> [Count] {
        try await db.all(
            """
            INSERT INTO login_failures AS counted (bucket, failures, since)
            SELECT bucket, 1, \(now) FROM unnest(\(buckets)) AS buckets (bucket) ORDER BY bucket
            ON CONFLICT (bucket) DO UPDATE SET
                failures = CASE WHEN counted.since > \(start) THEN counted.failures + 1 ELSE 1 END,
                since = CASE WHEN counted.since > \(start) THEN counted.since ELSE excluded.since END
            RETURNING bucket, failures, since
            """,
            as: Count.init(row:)
        )
    }

    /// Counts one more in a bucket that has fewer than `limit` in its window.
    ///
    /// - Returns: false, without a change, if the bucket is full.
    func add(to bucket: Data, upTo limit: Int, windowsSince start: Date, now: Date) async throws -> Bool {
        try await db.run(
            """
            INSERT INTO login_failures AS counted (bucket, failures, since)
            VALUES (\(bucket), 1, \(now))
            ON CONFLICT (bucket) DO UPDATE SET
                failures = CASE WHEN counted.since > \(start) THEN counted.failures + 1 ELSE 1 END,
                since = CASE WHEN counted.since > \(start) THEN counted.since ELSE excluded.since END
            WHERE counted.since <= \(start) OR counted.failures < \(limit)
            """
        ) == 1
    }

    func clear(_ bucket: Data) async throws {
        try await db.run("DELETE FROM login_failures WHERE bucket = \(bucket)")
    }

    func delete(before start: Date) async throws -> Int {
        try await db.run("DELETE FROM login_failures WHERE since <= \(start)")
    }
}

extension LoginFailureStore.Count {
    fileprivate init(row: PostgresRow) throws {
        self.init(bucket: try row.decode("bucket"), failures: try row.int("failures"), since: try row.date("since"))
    }
}
