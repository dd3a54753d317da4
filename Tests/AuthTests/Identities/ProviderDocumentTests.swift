import Foundation
import Logging
import Synchronization
import Testing
import Wire

@testable import AuthServer

/// A document of a provider is read no more often than it is worth.
@Suite struct ProviderDocumentTests {
    @Test func sharedFetch() async throws {
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

    @Test func missInterval() async throws {
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

    @Test func concurrentMisses() async throws {
        let source = Source()
        let document = source.document()
        _ = try await document.value()
        let found = try await withThrowingTaskGroup(of: Int?.self) { tasks in
            for _ in 0..<50 { tasks.addTask { try await document.valueAfterMiss() } }
            return try await tasks.reduce(into: [Int?]()) { $0.append($1) }
        }
        // Who comes when it has been read finds it where all do.
        #expect(found.contains(2) && Set(found).isSubset(of: [2, nil]))
        #expect(source.reads == 2)
        #expect(try await document.value() == 2)
    }

    @Test func retryAfterFailure() async throws {
        let source = Source()
        let document = source.document()
        _ = try await document.value()
        source.isAway = true
        await #expect(throws: APIError.unavailable("corp", retryAfter: 5)) { try await document.valueAfterMiss() }
        source.isAway = false
        source.clock.advance(seconds: 5)
        #expect(try await document.valueAfterMiss() == 3)
    }

    @Test func staleWhileUnavailable() async throws {
        let source = Source()
        let document = source.document()
        _ = try await document.value()
        source.isAway = true
        source.clock.advance(seconds: 3_600)
        #expect(try await document.value() == 1)
        source.clock.advance(seconds: 82_799)
        #expect(try await document.value() == 1)
        source.clock.advance(seconds: 1)
        await #expect(throws: APIError.unavailable("corp", retryAfter: 5)) { try await document.value() }

        source.isAway = false
        source.clock.advance(seconds: 5)
        #expect(try await document.value() > 1)
    }

    @Test func failurePause() async throws {
        let source = Source()
        source.isAway = true
        let document = source.document()
        for _ in 0..<20 {
            await #expect(throws: APIError.unavailable("corp", retryAfter: 5)) { try await document.value() }
        }
        #expect(source.reads == 1)
        source.clock.advance(seconds: 5)
        await #expect(throws: APIError.self) { try await document.value() }
        #expect(source.reads == 2)
    }

    @Test func sharedFailure() async throws {
        let source = Source()
        source.isAway = true
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

    /// A provider that counts how often it is asked, and answers with the count.
    private final class Source: Sendable {
        let clock = TestClock()
        private let state = Mutex((reads: 0, isAway: false))

        var reads: Int { state.withLock { $0.reads } }

        var isAway: Bool {
            get { state.withLock { $0.isAway } }
            set { state.withLock { $0.isAway = newValue } }
        }

        func document() -> ProviderDocument<Int> {
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            return ProviderDocument(of: "corp", logger: logger, now: { [clock] in clock.now }) { [self] in
                // So that others come while it is read.
                for _ in 0..<20 { await Task.yield() }
                return try state.withLock { state in
                    state.reads += 1
                    guard !state.isAway else { throw ProviderError("away") }
                    return state.reads
                }
            }
        }
    }
}
