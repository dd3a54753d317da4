import Foundation
import Glibc
import Synchronization

/// A TCP proxy in front of the server that can cut connections, refuse them and hold bytes back.
final class FaultProxy: @unchecked Sendable {
    // Unchecked: the descriptors are constant, and all other state is under the condition's lock.

    struct Unavailable: Error {}

    let port: UInt16
    private let listener: Int32
    private let server: (host: String, port: UInt16)
    private let condition = NSCondition()
    private var sockets: Set<Int32> = []
    private var accepted = 0
    private var isRefusing = false
    private var isClosed = false
    private var holdsRequests = false
    private var holdsResponses = false

    init() throws {
        server = try TestServer.address
        let (listener, port) = try Self.listen()
        self.listener = listener
        self.port = port
        Thread.detachNewThread { self.acceptAll() }
    }

    /// The number of connections that were let through.
    var connections: Int { condition.withLock { accepted } }

    /// Cuts every connection.
    func cut() {
        condition.withLock {
            for socket in sockets { shutdown(socket, Int32(SHUT_RDWR)) }
        }
    }

    /// Refuses new connections, or accepts them again.
    func refuse(_ isRefusing: Bool = true) {
        condition.withLock { self.isRefusing = isRefusing }
    }

    /// Holds back requests, responses, or both.
    func hold(requests: Bool = false, responses: Bool = false) {
        condition.withLock {
            holdsRequests = requests
            holdsResponses = responses
            condition.broadcast()
        }
    }

    func close() {
        let isFirst = condition.withLock {
            defer { isClosed = true }
            condition.broadcast()
            return !isClosed
        }
        guard isFirst else { return }
        shutdown(listener, Int32(SHUT_RDWR))
        cut()
    }

    private func acceptAll() {
        while true {
            let client = accept(listener, nil, nil)
            guard client >= 0 else { break }
            let isAccepted = condition.withLock { !isRefusing && !isClosed }
            guard isAccepted, let upstream = Self.connect(to: server) else {
                Glibc.close(client)
                continue
            }
            for socket in [client, upstream] { Self.sendAtOnce(socket) }
            condition.withLock {
                accepted += 1
                sockets.formUnion([client, upstream])
            }
            Thread.detachNewThread {
                let done = DispatchSemaphore(value: 0)
                Thread.detachNewThread {
                    self.pump(from: client, to: upstream) { self.holdsRequests }
                    done.signal()
                }
                self.pump(from: upstream, to: client) { self.holdsResponses }
                done.wait()
                self.condition.withLock { self.sockets.subtract([client, upstream]) }
                Glibc.close(client)
                Glibc.close(upstream)
            }
        }
        Glibc.close(listener)
    }

    private func pump(from source: Int32, to target: Int32, isHeld: @escaping () -> Bool) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        reading: while true {
            let count = recv(source, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            condition.lock()
            // Closing ends a hold as well.
            while isHeld(), !isClosed { _ = condition.wait(until: Date(timeIntervalSinceNow: 0.02)) }
            condition.unlock()
            var sent = 0
            while sent < count {
                let written = buffer[sent..<count].withUnsafeBytes {
                    send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard written > 0 else { break reading }
                sent += written
            }
        }
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(target, Int32(SHUT_RDWR))
    }

    private static func sendAtOnce(_ socket: Int32) {
        var one: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func listen() throws -> (Int32, UInt16) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = loopback(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && Glibc.listen(listener, 128) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        guard bound else { throw Unavailable() }
        return (listener, UInt16(bigEndian: address.sin_port))
    }

    private static func connect(to server: (host: String, port: UInt16)) -> Int32? {
        let upstream = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = loopback(port: server.port)
        inet_pton(AF_INET, server.host == "localhost" ? "127.0.0.1" : server.host, &address.sin_addr)
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(upstream, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard connected else {
            Glibc.close(upstream)
            return nil
        }
        return upstream
    }

    private static func loopback(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        return address
    }
}
