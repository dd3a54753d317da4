import Logging
import NIOCore
import NIOHTTP1

/// What operators hear of a request.
extension FrontHandler {
    /// Writes the request into log and metrics, once.
    func finishLog() {
        let duration = NIODeadline.now() - exchange.started
        loop.counters.count(
            route: exchange.route,
            status: exchange.status,
            nanoseconds: exchange.isHeld ? nil : duration.nanoseconds
        )
        let level = logLevel
        guard edge.logger.logLevel <= level else { return }
        edge.logger.log(
            level: level,
            "request",
            metadata: [
                "method": "\(exchange.head.method)",
                "route": "\(exchange.route?.template ?? "none")",
                "status": "\(exchange.status)",
                "milliseconds": "\(Double(duration.nanoseconds / 10_000) / 100)",
                "upstream": "\(exchange.service.map { edge.configuration.services[$0].name } ?? "none")",
                "received": "\(exchange.requestBytes)",
                "sent": "\(exchange.answerBytes)",
                "requestId": "\(exchange.requestID)",
                "traceId": "\(exchange.traceparent.dropFirst(3).prefix(32))",
            ]
        )
    }

    /// Who only asks how the gateway is doing is told of only when the answer is bad.
    private var logLevel: Logger.Level {
        switch exchange.route?.owner {
        case .gateway(.health), .gateway(.ready), .gateway(.status): exchange.status < 400 ? .debug : .info
        default: .info
        }
    }
}
