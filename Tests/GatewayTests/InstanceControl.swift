import NIOCore
import Synchronization

@testable import GatewayServer

extension ScriptedService {
    /// Responds to every request with a 503.
    static let unavailable: Script = { connection, service in
        while let request = try await connection.message() {
            service.record(request)
            try await connection.send(ScriptedService.response("", status: "503 Service Unavailable"))
        }
    }

    /// Reads requests and never responds.
    static let unresponsive: Script = { connection, service in
        while let request = try await connection.message() { service.record(request) }
    }
}

/// A script that responds with a status that the test sets, also to readiness checks.
final class InstanceControl: Sendable {
    private let state = Mutex("200 OK")

    func setStatus(_ status: String) { state.withLock { $0 = status } }

    var script: ScriptedService.Script {
        { connection, service in
            while let request = try await connection.message() {
                let status = self.state.withLock { $0 }
                if request.target != "/ready" { service.record(request) }
                try await connection.send(ScriptedService.response("", status: status))
            }
        }
    }
}

extension GatewayFixture {
    /// Whether this instance of conversations is ready.
    func isReady(_ number: Int = 0) -> Bool {
        gateway.state.clusters[1].instances[number].healthStatus.isReady
    }

    /// The circuit of the first instance of conversations.
    var circuit: CircuitBreaker.State { gateway.state.clusters[1].instances[0].healthStatus.circuit }
}

extension GatewayConfiguration {
    /// Makes ejections and open circuits last longer than any test.
    static func withoutRecovery(_ configuration: inout GatewayConfiguration) {
        configuration.healthRules.baseEjectionTime = .minutes(10)
        configuration.healthRules.maximumEjectionTime = .minutes(10)
        configuration.healthRules.openTime = .minutes(10)
        configuration.healthRules.maximumOpenTime = .minutes(10)
    }
}
