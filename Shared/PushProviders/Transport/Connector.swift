import Foundation
import Locks
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import NetworkGuard

/// Opens connections: DNS, TCP, TLS and the negotiation of the HTTP version.
struct Connector: Sendable {
    enum Versions {
        case http2
        case any
    }

    let group: any EventLoopGroup
    private let tls: NIOSSLContext
    private let versions: Versions
    private let addressGuard: AddressGuard?

    /// - Parameters:
    ///   - group: the event loops of the connections.
    ///   - versions: the HTTP versions to offer; without TLS it is always HTTP/1.1.
    ///   - authorities: certificate authorities in PEM that are trusted in addition to the system's.
    ///   - addressGuard: the rule for addresses; nil to allow all.
    /// - Throws: `PushCredentialsError` for invalid certificates.
    init(
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        versions: Versions,
        authorities: String? = nil,
        addressGuard: AddressGuard? = nil
    ) throws {
        self.group = group
        self.versions = versions
        self.addressGuard = addressGuard
        tls = try Self.tlsContexts.context(for: versions, trusting: authorities)
    }

    private static let tlsContexts = TLSContexts()

    /// Opens a connection for a pool, on `eventLoop`.
    func connect(_ pool: ConnectionPool, on eventLoop: any EventLoop) {
        let origin = pool.origin
        let attempt = ConnectionAttempt(pool: pool, eventLoop: eventLoop, timeout: pool.settings.connectTimeout)
        var bootstrap = ClientBootstrap(group: eventLoop)
            .connectTimeout(pool.settings.connectTimeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.socketOption(.so_keepalive), value: 1)
        if let addressGuard {
            bootstrap = bootstrap.resolver(GuardedResolver(addressGuard, eventLoop: eventLoop))
        }
        // If a name has several addresses, NIO tries them concurrently; the handlers go only to the winning channel.
        bootstrap.connect(host: origin.host, port: origin.port).assumeIsolated().whenComplete { result in
            switch result {
            case .success(let channel):
                guard attempt.began(on: channel) else { return }
                do {
                    try self.install(on: channel, pool, attempt)
                } catch {
                    attempt.fail(.unreachable(Self.describe(error)))
                }
            case .failure(let error): attempt.fail(Self.failure(error))
            }
        }
    }

    private func install(on channel: any Channel, _ pool: ConnectionPool, _ attempt: ConnectionAttempt) throws {
        guard channel.isActive else { throw ChannelError.ioOnClosedChannel }
        let pipeline = channel.pipeline.syncOperations
        guard pool.origin.isSecure else {
            return try HTTP1Connection.install(on: pipeline, pool: pool, attempt: attempt)
        }
        // TLS uses a host name for SNI and verification; an IP address is verified without SNI.
        let isName = (try? SocketAddress(ipAddress: pool.origin.host, port: 0)) == nil
        let handler = try NIOSSLClientHandler(context: tls, serverHostname: isName ? pool.origin.host : nil)
        try pipeline.addHandler(ALPNHandler(pool: pool, attempt: attempt, versions: versions))
        try pipeline.addHandler(handler, position: .first)
    }

    private static func failure(_ error: any Error) -> TransportFailure {
        guard let error = error as? NIOConnectionError else { return .unreachable(describe(error)) }
        switch (error.dnsAError ?? error.dnsAAAAError) as? AddressGuardError {
        case .privateAddress?: return .forbiddenAddress
        case .tooManyLookups?: return .unreachable("too many DNS queries for the host's domain are pending")
        case .unknownHost?, nil: break
        }
        let reason = error.connectionErrors.last.map { describe($0.error) }
        return .unreachable(reason ?? "the host name is unknown")
    }

    /// Returns at most 200 characters for a log.
    static func describe(_ error: any Error) -> String { String(String(describing: error).prefix(200)) }
}

/// TLS contexts, shared by connectors with equal settings, because each holds 1 MB of system certificates.
private final class TLSContexts: Sendable {
    private struct Key: Hashable {
        var versions: Connector.Versions
        var authorities: String?
    }

    private let contexts = Lock<[Key: NIOSSLContext]>([:])

    func context(for versions: Connector.Versions, trusting authorities: String?) throws -> NIOSSLContext {
        try contexts.withLock { contexts in
            let key = Key(versions: versions, authorities: authorities)
            if let context = contexts[key] { return context }
            let context = try Self.make(key)
            contexts[key] = context
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

/// Installs the handlers of the negotiated HTTP version after the TLS handshake.
private final class ALPNHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private let pool: ConnectionPool
    private let attempt: ConnectionAttempt
    private let versions: Connector.Versions
    private var problem: String?

    init(pool: ConnectionPool, attempt: ConnectionAttempt, versions: Connector.Versions) {
        self.pool = pool
        self.attempt = attempt
        self.versions = versions
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .handshakeCompleted(let version)? = event as? TLSUserEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        let pipeline = context.pipeline.syncOperations
        do {
            switch version {
            case "h2": try HTTP2Connection.install(on: pipeline, pool: pool, attempt: attempt)
            case nil where versions == .any, "http/1.1" where versions == .any:
                try HTTP1Connection.install(on: pipeline, pool: pool, attempt: attempt)
            default: attempt.fail(.unreachable("the server does not offer HTTP/2"))
            }
        } catch {
            attempt.fail(.unreachable(Connector.describe(error)))
        }
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        problem = Connector.describe(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        attempt.fail(.unreachable(problem ?? "closed during the handshake"))
        context.fireChannelInactive()
    }
}
