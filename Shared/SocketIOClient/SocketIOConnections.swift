public import Foundation

/// A sequence of connections to a server: the client reconnects when a connection ends.
///
/// ```swift
/// let connections = SocketIOConnections(to: endpoint) { failure in try await auth(after: failure) }
/// for try await connection in connections {
///     do { for try await event in connection.events { … } } catch { /* the next connection follows */ }
/// }
/// ```
///
/// The delay between attempts grows with each failure and is randomised, so that clients do not all reconnect to a
/// restarted server at the same time. The sequence ends when `auth` throws or when the task is cancelled.
public struct SocketIOConnections: AsyncSequence, Sendable {
    /// The type of the sequence's elements.
    public typealias Element = SocketIOConnection

    /// The delays between attempts.
    public struct Pauses: Hashable, Sendable {
        /// The delay after the first failure.
        public var shortest: Duration
        /// The longest delay.
        public var longest: Duration
        /// The time after which a connection counts as stable; its end then counts as the first failure.
        public var trial: Duration

        /// Creates delays that double from `shortest` to `longest`.
        public init(
            shortest: Duration = .milliseconds(250),
            longest: Duration = .seconds(5),
            trial: Duration = .seconds(10)
        ) {
            self.shortest = shortest
            self.longest = longest
            self.trial = trial
        }

        /// Returns the delay after a number of failures: 50 to 100 % of the full delay, by `chance` from 0 to 1.
        func pause(after failures: Int, chance: Double) -> Duration {
            let full = Swift.min(shortest * (1 << Swift.min(failures - 1, 16)), longest)
            return full * (0.5 + chance / 2)
        }
    }

    private let endpoint: SocketIOEndpoint
    private let pauses: Pauses
    private let auth: @Sendable (SocketIOClientError?) async throws -> Data

    /// Creates a sequence; iterating it connects.
    ///
    /// - Parameters:
    ///   - endpoint: The server.
    ///   - pauses: The delays between attempts.
    ///   - auth: Returns the handshake's `auth` before each attempt, as a JSON object. Its argument is the error that
    ///     ended the previous attempt or connection, nil at first. A ``SocketIOClientError`` counts as a failed
    ///     attempt; any other error ends the sequence.
    public init(
        to endpoint: SocketIOEndpoint,
        pauses: Pauses = Pauses(),
        auth: @escaping @Sendable (SocketIOClientError?) async throws -> Data
    ) {
        self.endpoint = endpoint
        self.pauses = pauses
        self.auth = auth
    }

    /// Returns an iterator that connects on demand.
    public func makeAsyncIterator() -> Iterator {
        Iterator(endpoint: endpoint, pauses: pauses, auth: auth)
    }

    /// An iterator that closes its current connection before it opens the next.
    public struct Iterator: AsyncIteratorProtocol {
        let endpoint: SocketIOEndpoint
        let pauses: Pauses
        let auth: @Sendable (SocketIOClientError?) async throws -> Data
        private var current: (connection: SocketIOConnection, since: ContinuousClock.Instant)?
        private var failures = 0
        private var failure: SocketIOClientError?

        init(
            endpoint: SocketIOEndpoint,
            pauses: Pauses,
            auth: @escaping @Sendable (SocketIOClientError?) async throws -> Data
        ) {
            self.endpoint = endpoint
            self.pauses = pauses
            self.auth = auth
        }

        /// Returns the next connection; nil if the task was cancelled.
        ///
        /// - Throws: Any error of `auth` except ``SocketIOClientError`` and `CancellationError`.
        public mutating func next() async throws -> SocketIOConnection? {
            await closeCurrent()
            while !Task.isCancelled {
                do {
                    if failures > 0 {
                        try await Task.sleep(for: pauses.pause(after: failures, chance: .random(in: 0...1)))
                    }
                    let auth = try await auth(failure)
                    let connection = try await SocketIOConnection.connect(to: endpoint, auth: auth)
                    current = (connection, .now)
                    return connection
                } catch let error as SocketIOClientError {
                    failure = error
                    failures += 1
                } catch is CancellationError {
                    return nil
                }
            }
            return nil
        }

        private mutating func closeCurrent() async {
            guard let (connection, since) = current else { return }
            current = nil
            await connection.close()
            failures = since.duration(to: .now) >= pauses.trial ? 1 : failures + 1
            failure = .closed(.lost)
        }
    }
}
