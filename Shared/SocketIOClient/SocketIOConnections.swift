public import Foundation

/// Connections to a server, one after the other: the next is made when the one before is over.
///
/// ```swift
/// let connections = SocketIOConnections(to: endpoint) { failure in try await auth(after: failure) }
/// for try await connection in connections {
///     do { for try await event in connection.events { … } } catch { /* the next one follows */ }
/// }
/// ```
///
/// Between attempts it waits, longer after each that fails and never as long as others do, so that a server that comes
/// back is not run over by all at once. It ends with what `auth` throws, and with the task that asks.
public struct SocketIOConnections: AsyncSequence, Sendable {
    public typealias Element = SocketIOConnection

    /// How long to wait between attempts.
    public struct Pauses: Hashable, Sendable {
        public var shortest: Duration
        public var longest: Duration
        /// What has lasted this long was well, and the next failure is the first.
        public var trial: Duration

        public init(
            shortest: Duration = .milliseconds(250),
            longest: Duration = .seconds(5),
            trial: Duration = .seconds(10)
        ) {
            self.shortest = shortest
            self.longest = longest
            self.trial = trial
        }

        /// How long to wait after so many failures; `chance` is from 0 to 1.
        func pause(after failures: Int, chance: Double) -> Duration {
            let whole = Swift.min(shortest * (1 << Swift.min(failures - 1, 16)), longest)
            return whole * (0.5 + chance / 2)
        }
    }

    private let endpoint: SocketIOEndpoint
    private let pauses: Pauses
    private let auth: @Sendable (SocketIOClientError?) async throws -> Data

    /// `auth` is asked before each attempt for what to connect with, and told why there has to be another.
    ///
    /// The first time it is told nil. A ``SocketIOClientError`` that it throws is a failed attempt; any other error is
    /// the end.
    public init(
        to endpoint: SocketIOEndpoint,
        pauses: Pauses = Pauses(),
        auth: @escaping @Sendable (SocketIOClientError?) async throws -> Data
    ) {
        self.endpoint = endpoint
        self.pauses = pauses
        self.auth = auth
    }

    public func makeAsyncIterator() -> Iterator {
        Iterator(endpoint: endpoint, pauses: pauses, auth: auth)
    }

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

        /// Nil: the task was cancelled.
        public mutating func next() async throws -> SocketIOConnection? {
            await leaveCurrent()
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

        private mutating func leaveCurrent() async {
            guard let (connection, since) = current else { return }
            current = nil
            await connection.close()
            failures = since.duration(to: .now) >= pauses.trial ? 1 : failures + 1
            failure = .closed(.lost)
        }
    }
}
