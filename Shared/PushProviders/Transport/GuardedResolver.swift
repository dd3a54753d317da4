import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// Looks names up as usual, and passes on only the addresses that may be connected to.
final class GuardedResolver: Resolver, Sendable {
    struct UnknownName: Error {}

    /// Look-ups block, some for many seconds, and names are anybody's: they have threads of their own.
    private static let threads = {
        let threads = NIOThreadPool(numberOfThreads: 16)
        threads.start()
        return threads
    }()

    private let origin: Origin
    private let guardian: AddressGuard
    private let v4: EventLoopPromise<[SocketAddress]>
    private let v6: EventLoopPromise<[SocketAddress]>
    private let isGivenUp = Atomic(false)

    init(origin: Origin, guardian: AddressGuard, eventLoop: any EventLoop) {
        self.origin = origin
        self.guardian = guardian
        v4 = eventLoop.makePromise()
        v6 = eventLoop.makePromise()
    }

    /// Asked second: both answers come of one look-up.
    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { v4.futureResult }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        Self.threads.submit { state in
            // What nobody waits for any more is not to keep others waiting.
            guard case .active = state, !self.isGivenUp.load(ordering: .relaxed) else {
                return self.fail(ChannelError.eof)
            }
            self.lookUp(host, port)
        }
        return v6.futureResult
    }

    func cancelQueries() { isGivenUp.store(true, ordering: .relaxed) }

    private func lookUp(_ host: String, _ port: Int) {
        var hints = addrinfo()
        hints.ai_protocol = Int32(IPPROTO_TCP)
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &first) == 0 else { return fail(UnknownName()) }
        defer { freeaddrinfo(first) }
        var found: [SocketAddress] = []
        var next = first
        while let entry = next?.pointee {
            if let address = Self.address(entry) { found.append(address) }
            next = entry.ai_next
        }
        publish(found)
    }

    private static func address(_ entry: addrinfo) -> SocketAddress? {
        guard let bytes = UnsafeRawPointer(entry.ai_addr) else { return nil }
        switch entry.ai_family {
        case AF_INET: return SocketAddress(bytes.load(as: sockaddr_in.self), host: "")
        case AF_INET6: return SocketAddress(bytes.load(as: sockaddr_in6.self), host: "")
        default: return nil
        }
    }

    private func publish(_ found: [SocketAddress]) {
        let permitted = found.filter { guardian.permits($0, for: origin) }
        guard !permitted.isEmpty else { return fail(AddressGuard.Forbidden()) }
        v6.succeed(permitted.filter { $0.protocol == .inet6 })
        v4.succeed(permitted.filter { $0.protocol == .inet })
    }

    private func fail(_ error: any Error) {
        v6.fail(error)
        v4.fail(error)
    }
}
