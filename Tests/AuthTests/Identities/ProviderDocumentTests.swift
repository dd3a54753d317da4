import Foundation
import Logging
import Synchronization
import Testing
import Wire

@testable import AuthServer

/// The caching of a provider's document.
@Suite("Documents of providers") struct ProviderDocumentTests {
    @Test("Concurrent readers share one fetch, and the document is fresh for an hour")
    func sharedFetch() async throws {
        let source = Source()
        let document = source.document()
        try await withThrowingTaskGroup(of: Int.self) { tasks in
            for _ in 0..<50 { tasks.addTask { try await document.value() } }
            for try await value in tasks { #expect(value == 1) }
        }
        source.clock.advance(seconds: 3_599)
        #expect(try await document.value() == 1)
        source.clock.advance(seconds: 1)
        #expect(try await document.value() == 2)
    }

    @Test("A missing key fetches the document again, at most every five minutes")
    func missInterval() async throws {
        let source = Source()
        let document = source.document()
        _ = try await document.value()
        #expect(try await document.valueAfterMiss() == 2)
        for _ in 0..<100 { #expect(try await document.valueAfterMiss() == nil) }
        source.clock.advance(seconds: 299)
        #expect(try await document.valueAfterMiss() == nil)
        source.clock.advance(seconds: 1)
        #expect(try await document.valueAfterMiss() == 3)
        #expect(try await document.value() == 3)
    }

    @Test("Concurrent misses share one fetch")
    func concurrentMisses() async throws {
        let source = Source()
        let document = source.document()
        _ = try await document.value()
        let found = try await withThrowingTaskGroup(of: Int?.self) { tasks in
            for _ in 0..<50 { tasks.addTask { try await document.valueAfterMiss() } }
            return try await tasks.reduce(into: [Int?]()) { $0.append($1) }
        }
        // A reader that comes after the fetch gets nil and finds the new document.
        #expect(found.contains(2))
        #expect(Set(found).isSubset(of: [2, nil]))
        #expect(source.reads == 2)
        #expect(try await document.value() == 2)
    }

    @Test("A failed fetch after a miss is retried after five seconds")
    func retryAfterFailure() async throws {
        let source = Source()
        let document = source.document()
        _ = try await document.value()
        source.isUnavailable = true
        await #expect(throws: APIError.unavailable("corp", retryAfter: 5)) { try await document.valueAfterMiss() }
        source.isUnavailable = false
        source.clock.advance(seconds: 5)
        #expect(try await document.valueAfterMiss() == 3)
    }

    @Test("While the provider is unavailable, the old document serves for a day")
    func staleWhileUnavailable() async throws {
        let source = Source()
        let document = source.document()
        _ = try await document.value()
        source.isUnavailable = true
        source.clock.advance(seconds: 3_600)
        #expect(try await document.value() == 1)
        source.clock.advance(seconds: 82_799)
        #expect(try await document.value() == 1)
        source.clock.advance(seconds: 1)
        await #expect(throws: APIError.unavailable("corp", retryAfter: 5)) { try await document.value() }

        source.isUnavailable = false
        source.clock.advance(seconds: 5)
        #expect(try await document.value() > 1)
    }

    @Test("After a failure there is no fetch for five seconds")
    func failurePause() async throws {
        let source = Source()
        source.isUnavailable = true
        let document = source.document()
        for _ in 0..<20 {
            await #expect(throws: APIError.unavailable("corp", retryAfter: 5)) { try await document.value() }
        }
        #expect(source.reads == 1)
        source.clock.advance(seconds: 5)
        await #expect(throws: APIError.self) { try await document.value() }
        #expect(source.reads == 2)
    }

    @Test("Concurrent readers share a failure")
    func sharedFailure() async throws {
        let source = Source()
        source.isUnavailable = true
        let document = source.document()
        let refused = await withTaskGroup(of: Bool.self) { tasks in
            for _ in 0..<50 {
                tasks.addTask {
                    do {
                        _ = try await document.value()
                        return false
                    } catch {
                        return (error as? APIError)?.kind == .unavailable
                    }
                }
            }
            return await tasks.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(refused == 50)
    }

    /// A provider that counts its requests, and responds with the count.
    private final class Source: Sendable {
        let clock = TestClock()
        private let state = Mutex((reads: 0, isUnavailable: false))

        var reads: Int { state.withLock { $0.reads } }

        var isUnavailable: Bool {
            get { state.withLock { $0.isUnavailable } }
            set { state.withLock { $0.isUnavailable = newValue } }
        }

        func document() -> ProviderDocument<Int> {
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            return ProviderDocument(of: "corp", logger: logger, now: { [clock] in clock.now }) { [self] in
                // Gives other tasks time to arrive during the fetch.
                for _ in 0..<20 { await Task.yield() }
                return try state.withLock { state in
                    state.reads += 1
                    guard !state.isUnavailable else { throw ProviderError("unavailable") }
                    return state.reads
                }
            }
        }
    }
}
