import Credentials
import Foundation
import Locks
import Logging
import TestSupport
import Testing

@testable import AuthServer

@Suite("Revocation feed") struct RevocationFeedTests {
    @Test("A request that ends a session returns only after its token is refused, although a look found it first")
    func toldBeforeKnown() async throws {
        try await withAuth { auth in
            let record = RevocationStore.Record(serial: 7, session: UUID(), revokedAt: Date())
            let told = Lock([Revocation]())
            let toldAtReturn = Lock(-1)
            let feed = Lock(RevocationFeed?.none)
            let isPolling = Lock(true)
            let value = RevocationFeed(
                database: auth.service.database.pool,
                lifetime: 60,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                now: { Date() },
                onRevoked: { revocations in
                    // The look is interrupted here, before it tells; the request runs meanwhile.
                    let isFirst = isPolling.withLock { isPolling in
                        defer { isPolling = false }
                        return isPolling
                    }
                    if isFirst {
                        feed.withLock(\.self)?.receive([record])
                        toldAtReturn.withLock { $0 = told.withLock(\.count) }
                    }
                    told.withLock { $0 += revocations }
                }
            )
            feed.withLock { $0 = value }
            value.receive([record])
            feed.withLock { $0 = nil }
            #expect(toldAtReturn.withLock(\.self) == 1)

            let count = told.withLock(\.count)
            value.receive([record])
            #expect(told.withLock(\.count) == count)
        }
    }
}
