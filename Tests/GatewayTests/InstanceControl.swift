import NIOCore
import Synchronization

@testable import GatewayServer

extension ScriptedService {
    /// Has no time for anybody.
    static let unavailable: Script = { connection, service in
        while let request = try await connection.message() {
            service.record(request)
            try await connection.send(ScriptedService.response("", status: "503 Service Unavailable"))
        }
    }

    /// Hears and says nothing.
    static let unresponsive: Script = { connection, service in
        while let request = try await connection.message() { service.record(request) }
    }
}

/// Answers, and says that it is ready, with the status that it is told.
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
    /// Whether an instance of conversations is, the first unless told.
    func isReady(_ number: Int = 0) -> Bool {
        gateway.state.clusters[1].instances[number].healthStatus.isReady
    }

    /// Of the first instance of conversations.
    var circuit: CircuitBreaker.State { gateway.state.clusters[1].instances[0].healthStatus.circuit }
}

extension GatewayConfiguration {
    /// Who is ejected stays so for longer than any test takes, and so does an open circuit.
    static func withoutRecovery(_ configuration: inout GatewayConfiguration) {
        configuration.healthRules.baseEjectionTime = .minutes(10)
        configuration.healthRules.maximumEjectionTime = .minutes(10)
        configuration.healthRules.openTime = .minutes(10)
        configuration.healthRules.maximumOpenTime = .minutes(10)
    }
}
