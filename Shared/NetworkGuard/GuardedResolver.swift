public import NIOCore
public import NIOPosix
import Synchronization

/// Resolves a host for NIO's connection bootstrap, and passes on only the addresses that the guard permits.
public final class GuardedResolver: Resolver, Sendable {
    private let addresses: AddressGuard
    private let v4: EventLoopPromise<[SocketAddress]>
    private let v6: EventLoopPromise<[SocketAddress]>
    private let isCancelled = Atomic(false)

    public init(_ addresses: AddressGuard, eventLoop: any EventLoop) {
        self.addresses = addresses
        v4 = eventLoop.makePromise()
        v6 = eventLoop.makePromise()
    }

    /// NIO calls this second: one look-up answers both queries.
    public func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { v4.futureResult }

    public func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        addresses.lookupQueue.submit(host) { refusal in
            // A cancelled look-up must not hold up the others.
            guard !self.isCancelled.load(ordering: .relaxed) else { return self.fail(ChannelError.eof) }
            do {
                if let refusal { throw refusal }
                let permitted = try self.addresses.permitted(host, port)
                self.v6.succeed(permitted.filter { $0.protocol == .inet6 })
                self.v4.succeed(permitted.filter { $0.protocol == .inet })
            } catch {
                self.fail(error)
            }
        }
        return v6.futureResult
    }

    public func cancelQueries() { isCancelled.store(true, ordering: .relaxed) }

    private func fail(_ error: any Error) {
        v6.fail(error)
        v4.fail(error)
    }
}
