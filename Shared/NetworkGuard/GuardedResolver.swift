public import NIOCore
public import NIOPosix
import Synchronization

/// A resolver for NIO's connection bootstrap that returns only the addresses that the guard permits.
///
/// Use one instance for each connection attempt.
public final class GuardedResolver: Resolver, Sendable {
    private let addresses: AddressGuard
    private let v4: EventLoopPromise<[SocketAddress]>
    private let v6: EventLoopPromise<[SocketAddress]>
    private let isCancelled = Atomic(false)

    /// Creates a resolver for one connection attempt.
    ///
    /// - Parameters:
    ///   - addresses: the guard.
    ///   - eventLoop: the event loop of the connection.
    public init(_ addresses: AddressGuard, eventLoop: any EventLoop) {
        self.addresses = addresses
        v4 = eventLoop.makePromise()
        v6 = eventLoop.makePromise()
    }

    /// Returns the IPv4 addresses; NIO calls this method after ``initiateAAAAQuery(host:port:)``, whose lookup serves
    /// both.
    public func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { v4.futureResult }

    /// Starts the lookup and returns the IPv6 addresses.
    public func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        addresses.lookupQueue.submit(host) { failure in
            // A cancelled lookup must not delay the others.
            guard !self.isCancelled.load(ordering: .relaxed) else { return self.fail(ChannelError.eof) }
            do {
                if let failure { throw failure }
                let permitted = try self.addresses.permitted(host, port)
                self.v6.succeed(permitted.filter { $0.protocol == .inet6 })
                self.v4.succeed(permitted.filter { $0.protocol == .inet })
            } catch {
                self.fail(error)
            }
        }
        return v6.futureResult
    }

    /// Prevents the lookup if it has not started yet.
    public func cancelQueries() { isCancelled.store(true, ordering: .relaxed) }

    private func fail(_ error: any Error) {
        v6.fail(error)
        v4.fail(error)
    }
}
