import NIOCore
import Synchronization

@testable import GatewayServer

extension ScriptedService {
    /// Has no time for anybody.
    static let refusing: Script = { connection, service in
        while let request = try await connection.message() {
            service.note(request)
            try await connection.send(ScriptedService.answer("", status: "503 Service Unavailable"))
        }
    }

    /// Hears and says nothing.
    static let hanging: Script = { connection, service in
        while let request = try await connection.message() { service.note(request) }
    }
}

/// Answers, and says that it is ready, with the status that it is told.
final class InstanceMood: Sendable {
    private let state = Mutex("200 OK")

    func turn(_ status: String) { state.withLock { $0 = status } }

    var script: ScriptedService.Script {
        { connection, service in
            while let request = try await connection.message() {
                let status = self.state.withLock { $0 }
                if request.target != "/ready" { service.note(request) }
                try await connection.send(ScriptedService.answer("", status: status))
            }
        }
    }
}

extension GatewayScene {
    /// Whether an instance of conversations is, the first unless told.
    func isReady(_ number: Int = 0) -> Bool {
        gateway.edge.fleets[1].instances[number].standing.isReady
    }

    /// Of the first instance of conversations.
    var circuit: CircuitBreaker.State { gateway.edge.fleets[1].instances[0].standing.circuit }
}

extension GatewayConfiguration {
    /// Who is ejected stays so for longer than any test takes, and so does an open circuit.
    static func forGood(_ configuration: inout GatewayConfiguration) {
        configuration.healthRules.ejection = .minutes(10)
        configuration.healthRules.longestEjection = .minutes(10)
        configuration.healthRules.openTime = .minutes(10)
        configuration.healthRules.longestOpenTime = .minutes(10)
    }
}
