import Foundation
import Logging
import Wire

/// A document of a provider, cached for an hour and fetched once for all concurrent requests.
///
/// While the provider is unavailable, the cached document remains usable for a day.
actor ProviderDocument<Value: Sendable> {
    /// Seconds after which the document is fetched again.
    private static var freshness: Double { 3_600 }
    /// Seconds for which a document remains usable while fetches fail.
    private static var staleLifetime: Double { 86_400 }
    /// Seconds without a new fetch after a failure.
    private static var pause: Double { 5 }
    /// The shortest interval in seconds between fetches for a missing entry, because any client can request unknown
    /// entries.
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
    ///   - name: the provider's name, for errors.
    ///   - logger: logs the reasons of failures.
    ///   - now: the clock.
    ///   - fetch: fetches the document.
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

    /// - Throws: a 503 if the document cannot be fetched and no usable copy is cached.
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

    /// Fetches the document again for an entry that the cached copy lacks; nil if such a fetch was made recently.
    ///
    /// - Throws: a 503 if the document cannot be fetched.
    func valueAfterMiss() async throws -> Value? {
        let time = now()
        // A running fetch is newer than the cached copy, so all concurrent misses use it.
        if let fetching { return try await fetching.value }
        guard time.timeIntervalSince(missedAt) >= Self.missInterval else { return nil }
        let value = try await read(unlessFailedSince: time)
        // Set only after a success: a failed fetch does not show that the entry is missing.
        missedAt = time
        return value
    }

    private func read(unlessFailedSince time: Date) async throws -> Value {
        if let fetching { return try await fetching.value }
        guard time.timeIntervalSince(failedAt) >= Self.pause else {
            throw APIError.unavailable(name, retryAfter: Int(Self.pause))
        }
        // A separate task, so that the fetch continues for the other requests if the first one is cancelled.
        let task = Task { [name, logger, fetch] in
            do {
                return try await fetch()
            } catch {
                logger.warning(
                    "identity provider document not loaded",
                    metadata: ["provider": "\(name)", "error": "\(error)"]
                )
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
