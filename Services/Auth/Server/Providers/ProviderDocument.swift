import Foundation
import Logging
import Wire

/// What a provider publishes, kept for a while, and fetched once for all who want it at the same time.
///
/// While the provider is away, what was read before serves for a day.
actor ProviderDocument<Value: Sendable> {
    /// After so many seconds it is read again.
    private static var freshness: Double { 3_600 }
    /// For so many seconds it serves while it cannot be read again.
    private static var staleLifetime: Double { 86_400 }
    /// After a failure nobody tries for so many seconds.
    private static var pause: Double { 5 }
    /// What is missing from it has it read again this often, in seconds: anybody can ask for what is not there.
    private static var missInterval: Double { 300 }

    private let name: String
    private let logger: Logger
    private let fetch: @Sendable () async throws -> Value
    private let now: @Sendable () -> Date
    private var cached: (value: Value, at: Date)?
    private var failedAt = Date.distantPast
    private var missedAt = Date.distantPast
    private var fetching: Task<Value, any Error>?

    /// - Parameters:
    ///   - what: the provider's name, for who is told that it is away.
    ///   - logger: hears why it cannot be read.
    ///   - now: the clock.
    ///   - fetch: reads it.
    init(
        of name: String,
        logger: Logger,
        now: @escaping @Sendable () -> Date,
        fetch: @escaping @Sendable () async throws -> Value
    ) {
        self.name = name
        self.logger = logger
        self.now = now
        self.fetch = fetch
    }

    /// - Throws: a 503 where it was never read, or too long ago, and cannot be.
    func value() async throws -> Value {
        let time = now()
        guard let cached else { return try await read(unlessFailedSince: time) }
        let age = time.timeIntervalSince(cached.at)
        guard age >= Self.freshness else { return cached.value }
        do {
            return try await read(unlessFailedSince: time)
        } catch  where age < Self.staleLifetime {
            return cached.value
        }
    }

    /// The document anew, since something is missing from the last one; nil where it was read for that lately.
    ///
    /// - Throws: a 503 where it cannot be read.
    func valueAfterMiss() async throws -> Value? {
        let time = now()
        // What is under way is newer than what it is missing from, for all who miss it at the same time.
        if let fetching { return try await fetching.value }
        guard time.timeIntervalSince(missedAt) >= Self.missInterval else { return nil }
        let value = try await read(unlessFailedSince: time)
        // Only now: a provider that does not answer has said nothing of what is missing.
        missedAt = time
        return value
    }

    private func read(unlessFailedSince time: Date) async throws -> Value {
        if let fetching { return try await fetching.value }
        guard time.timeIntervalSince(failedAt) >= Self.pause else {
            throw APIError.unavailable(name, retryAfter: Int(Self.pause))
        }
        // Of its own, so that it goes on for the others when who began it gives up.
        let task = Task { [name, logger, fetch] in
            do {
                return try await fetch()
            } catch {
                logger.warning("identity provider not read", metadata: ["provider": "\(name)", "error": "\(error)"])
                throw APIError.unavailable(name, retryAfter: Int(Self.pause))
            }
        }
        fetching = task
        defer { fetching = nil }
        do {
            let value = try await task.value
            cached = (value, now())
            return value
        } catch {
            failedAt = now()
            throw error
        }
    }
}
