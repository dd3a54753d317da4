import Foundation
import Locks
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import NetworkGuard

/// Opens connections: the look-up, TCP, TLS and the choice of HTTP's version.
struct Connector: Sendable {
    /// Which versions of HTTP an origin may speak.
    enum Versions {
        case http2
        case any
    }

    let group: any EventLoopGroup
    private let tls: NIOSSLContext
    private let versions: Versions
    private let guardian: AddressGuard?

    /// - Parameters:
    ///   - group: where the connections live.
    ///   - versions: without TLS it is HTTP/1.1 in any case.
    ///   - authorities: certificates, PEM, that are trusted beside the system's.
    ///   - guardian: whom may be connected to; nil is anybody.
    /// - Throws: `PushCredentialsError` for certificates that cannot be read.
    init(
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        versions: Versions,
        authorities: String? = nil,
        guardian: AddressGuard? = nil
    ) throws {
        self.group = group
        self.versions = versions
        self.guardian = guardian
        tls = try Self.contexts.context(for: versions, trusting: authorities)
    }

    private static let contexts = Contexts()

    /// Opens a connection for a pool; on `eventLoop`, where it stays.
    func connect(_ pool: ConnectionPool, on eventLoop: any EventLoop) {
        let origin = pool.origin
        let opening = Opening(pool: pool, eventLoop: eventLoop, timeout: pool.settings.connectTimeout)
        var bootstrap = ClientBootstrap(group: eventLoop)
            .connectTimeout(pool.settings.connectTimeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.socketOption(.so_keepalive), value: 1)
        if let guardian {
            bootstrap = bootstrap.resolver(GuardedResolver(guardian, eventLoop: eventLoop))
        }
        // Handlers are added to the one channel that won, where a name has several addresses that are tried side by side.
        bootstrap.connect(host: origin.host, port: origin.port).assumeIsolated().whenComplete { result in
            switch result {
            case .success(let channel):
                guard opening.began(on: channel) else { return }
                do {
                    try self.install(on: channel, pool, opening)
                } catch {
                    opening.fail(.unreachable(Self.describe(error)))
                }
            case .failure(let error): opening.fail(Self.failure(error))
            }
        }
    }

    private func install(on channel: any Channel, _ pool: ConnectionPool, _ opening: Opening) throws {
        guard channel.isActive else { throw ChannelError.ioOnClosedChannel }
        let pipeline = channel.pipeline.syncOperations
        guard pool.origin.isSecure else {
            return try HTTP1Connection.install(on: pipeline, pool: pool, opening: opening)
        }
        // The name goes into the handshake, and into what the certificate must say; an address is compared as it is.
        let isName = (try? SocketAddress(ipAddress: pool.origin.host, port: 0)) == nil
        let handler = try NIOSSLClientHandler(context: tls, serverHostname: isName ? pool.origin.host : nil)
        try pipeline.addHandler(Greeting(pool: pool, opening: opening, versions: versions))
        try pipeline.addHandler(handler, position: .first)
    }

    private static func failure(_ error: any Error) -> TransportFailure {
        guard let error = error as? NIOConnectionError else { return .unreachable(describe(error)) }
        switch (error.dnsAError ?? error.dnsAAAAError) as? AddressGuardError {
        case .privateAddress?: return .forbiddenAddress
        case .busy?: return .unreachable("too many names of the host's domain are being looked up")
        case .unknownHost?, nil: break
        }
        let reason = error.connectionErrors.last.map { describe($0.error) }
        return .unreachable(reason ?? "the name is not known")
    }

    /// A line for a log.
    static func describe(_ error: any Error) -> String { String(String(describing: error).prefix(200)) }
}

/// What connections speak TLS by, shared by all that trust the same: each holds the system's certificates, a megabyte.
private final class Contexts: Sendable {
    private struct Key: Hashable {
        var versions: Connector.Versions
        var authorities: String?
    }

    private let known = Lock<[Key: NIOSSLContext]>([:])

    /// - Throws: `PushCredentialsError` for certificates that cannot be read.
    func context(for versions: Connector.Versions, trusting authorities: String?) throws -> NIOSSLContext {
        try known.withLock { known in
            let key = Key(versions: versions, authorities: authorities)
            if let context = known[key] { return context }
            let context = try Self.make(key)
            known[key] = context
            return context
        }
    }

    private static func make(_ key: Key) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = key.versions == .http2 ? ["h2"] : ["h2", "http/1.1"]
        do {
            if let authorities = key.authorities {
                let certificates = try NIOSSLCertificate.fromPEMBytes(Array(authorities.utf8))
                configuration.additionalTrustRoots = [.certificates(certificates)]
            }
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw PushCredentialsError("the certificates of trusted authorities cannot be read")
        }
    }
}

/// Waits for the end of TLS's handshake and puts the handlers of the version of HTTP that was agreed on into its place.
private final class Greeting: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private let pool: ConnectionPool
    private let opening: Opening
    private let versions: Connector.Versions
    private var problem: String?

    init(pool: ConnectionPool, opening: Opening, versions: Connector.Versions) {
        self.pool = pool
        self.opening = opening
        self.versions = versions
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .handshakeCompleted(let version)? = event as? TLSUserEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        let pipeline = context.pipeline.syncOperations
        do {
            switch version {
            case "h2": try HTTP2Connection.install(on: pipeline, pool: pool, opening: opening)
            case nil where versions == .any, "http/1.1" where versions == .any:
                try HTTP1Connection.install(on: pipeline, pool: pool, opening: opening)
            default: opening.fail(.unreachable("no HTTP/2"))
            }
        } catch {
            opening.fail(.unreachable(Connector.describe(error)))
        }
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        problem = Connector.describe(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        opening.fail(.unreachable(problem ?? "closed during the handshake"))
        context.fireChannelInactive()
    }
}
