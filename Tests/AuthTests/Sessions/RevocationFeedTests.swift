import Credentials
import Foundation
import Locks
import Logging
import TestSupport
import Testing

@testable import AuthServer

@Suite("Revocation feed") struct RevocationFeedTests {
    @Test("A request that ends a session returns only once its token is refused, even if a poll found it first")
    func returnsAfterReport() async throws {
        try await withAuth { auth in
            let record = RevocationStore.Record(serial: 7, session: UUID(), revokedAt: Date())
            let reported = Lock([Revocation]())
            let reportedAtReturn = Lock(-1)
            let feed = Lock(RevocationFeed?.none)
            let isPolling = Lock(true)
            let value = RevocationFeed(
                database: auth.service.database.pool,
                lifetime: 60,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                now: { Date() },
                onRevoked: { revocations in
                    // The poll is interrupted here, before it reports; the request runs meanwhile.
                    let isFirst = isPolling.withLock { isPolling in
                        defer { isPolling = false }
                        return isPolling
                    }
                    if isFirst {
                        feed.withLock(\.self)?.receive([record])
                        reportedAtReturn.withLock { $0 = reported.withLock(\.count) }
                    }
                    reported.withLock { $0 += revocations }
                }
            )
            feed.withLock { $0 = value }
            value.receive([record])
            feed.withLock { $0 = nil }
            #expect(reportedAtReturn.withLock(\.self) == 1)

            let count = reported.withLock(\.count)
            value.receive([record])
            #expect(reported.withLock(\.count) == count)
        }
    }
}
