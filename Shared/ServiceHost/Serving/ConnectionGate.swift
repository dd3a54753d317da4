package import NIOCore
import ServiceLifecycle

/// Handlers that see the requests of a service's connections before its routes do, on the same port, and answer some of
/// them themselves; connections may become theirs alone.
package struct ConnectionGate: Sendable {
    /// Puts the handlers of the routes behind the gate's: called once, before the first request that goes through.
    package typealias Next = @Sendable (any Channel) throws -> Void
    /// Hears that a connection is the gate's alone from now on, and no more HTTP.
    package typealias Taken = @Sendable () -> Void

    let install: @Sendable (any Channel, @escaping Next, @escaping Taken) throws -> Void
    let close: @Sendable () async -> Void

    /// - Parameters:
    ///   - install: puts the gate behind the HTTP/1 handlers of a connection, on its event loop.
    ///   - close: ends what the gate has open, once the service has drained.
    package init(
        install: @escaping @Sendable (any Channel, @escaping Next, @escaping Taken) throws -> Void,
        close: @escaping @Sendable () async -> Void
    ) {
        self.install = install
        self.close = close
    }
}

/// Closes what a gate has open after the drain and before the server stops, which waits for all connections.
struct GateCloser: Service {
    let gate: ConnectionGate

    func run() async {
        // Throws when the task is cancelled: then it is time all the more.
        try? await gracefulShutdown()
        await gate.close()
    }
}
