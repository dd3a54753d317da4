import Hummingbird
import HummingbirdCore
package import Logging
package import NIOCore
import NIOHTTP1
package import ServiceLifecycle

extension AssembledService {
    /// The idle timeout, longer than the 30 s of the gateway, which therefore never sends a request on a closing
    /// connection.
    private static let idleTimeout = TimeAmount.seconds(75)

    /// Returns the HTTP server and the services that end with it, in the order of their start.
    ///
    /// - Parameters:
    ///   - host: the address to listen on.
    ///   - port: the port; 0 selects a free one.
    ///   - bodyGrace: the time that each request body may take; a body that keeps the minimum rate may take longer.
    ///   - logger: the server's logger.
    ///   - onServerRunning: called with the listening channel.
    /// - Returns: the services.
    package func server(
        host: String = "127.0.0.1",
        port: Int,
        bodyGrace: TimeAmount? = nil,
        logger: Logger,
        onServerRunning: @escaping @Sendable (any Channel) async -> Void = { _ in }
    ) -> [any Service] {
        let application = Application(
            responder: responder,
            server: builder(bodyGrace: bodyGrace ?? BodyRateLimit.grace),
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: port),
                serverName: nil,
                backlog: 1_024
            ),
            onServerRunning: onServerRunning,
            logger: logger
        )
        return [application] + (gate.map { [GateCloser(gate: $0)] } ?? []) + [drain]
    }

    /// Returns the configuration of HTTP/1; Hummingbird has no idle timeout and allows more header data by default.
    private func builder(bodyGrace: TimeAmount) -> HTTPServerBuilder {
        let bytes = 64 * 1_024
        let fields = 220
        guard let gate else {
            return .http1(
                configuration: HTTP1Channel.Configuration(
                    additionalChannelHandlers: [drain.counter(), BodyRateLimit(grace: bodyGrace)],
                    idleTimeout: Self.idleTimeout,
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: bytes,
                        maxHeaderListSize: bytes,
                        maxHeaderFieldCount: fields
                    )
                )
            )
        }
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = bytes
        limits.maxHeaderListSize = bytes
        limits.maxHeaderFieldCount = fields
        return HTTPServerBuilder { [limits, drain] responder in
            GatedHTTP1Channel(
                responder: responder,
                gate: gate,
                limits: limits,
                idleTimeout: Self.idleTimeout,
                bodyGrace: bodyGrace,
                drain: drain
            )
        }
    }
}
