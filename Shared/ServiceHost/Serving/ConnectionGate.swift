package import NIOCore
import ServiceLifecycle

/// Handlers that receive a connection's requests before the routes do, on the same port, and may respond to them.
///
/// A gate can also take over a connection completely.
package struct ConnectionGate: Sendable {
    /// Installs the handlers of the routes behind the gate's; called once, before the first request that the gate
    /// forwards.
    package typealias Next = @Sendable (any Channel) throws -> Void
    /// Reports that the connection now belongs to the gate and no longer uses HTTP.
    package typealias Taken = @Sendable () -> Void

    let install: @Sendable (any Channel, @escaping Next, @escaping Taken) throws -> Void
    let close: @Sendable () async -> Void

    /// Creates a gate.
    ///
    /// - Parameters:
    ///   - install: adds the gate behind the HTTP/1 handlers of a connection, on its event loop.
    ///   - close: closes the gate's connections after the service has drained.
    package init(
        install: @escaping @Sendable (any Channel, @escaping Next, @escaping Taken) throws -> Void,
        close: @escaping @Sendable () async -> Void
    ) {
        self.install = install
        self.close = close
    }
}

/// Closes the gate's connections after the drain and before the server stops, because the server waits for all
/// connections.
struct GateCloser: Service {
    let gate: ConnectionGate

    func run() async {
        // gracefulShutdown() throws when the task is cancelled; the gate must close then as well.
        try? await gracefulShutdown()
        await gate.close()
    }
}
