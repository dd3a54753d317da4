import Dispatch
import Glibc
import TestSupport

/// A TCP connection with blocking calls on its own threads.
final class RawClient: Sendable {
    private let socket: Int32
    private let queue = DispatchQueue(label: "raw client")

    init(port: Int) async throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw TestSupportError("cannot connect") }
    }

    func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) async throws {
        try await blocking { [socket] in
            var sent = 0
            while sent < bytes.count {
                let count = bytes.withUnsafeBytes {
                    Glibc.send(
                        socket,
                        $0.baseAddress.map { $0 + sent },
                        bytes.count - sent,
                        0
                    )
                }
                guard count > 0 else { throw TestSupportError("cannot send") }
                sent += count
            }
        }
    }

    /// Receives the next bytes as text.
    func receive() async throws -> String { String(decoding: try await bytes(65_536) ?? [], as: UTF8.self) }

    /// Receives until the bytes contain `text` or the connection ends.
    func receive(until text: String) async throws -> String {
        var received = ""
        while !received.contains(text), let more = try await bytes(65_536) {
            received += String(decoding: more, as: UTF8.self)
        }
        return received
    }

    /// Receives at most `count` bytes; nil at the end.
    func bytes(_ count: Int) async throws -> [UInt8]? {
        try await blocking { [socket] in
            var bytes = [UInt8](repeating: 0, count: count)
            let received = recv(socket, &bytes, count, 0)
            guard received >= 0 else { throw TestSupportError("cannot receive") }
            return received == 0 ? nil : Array(bytes[..<received])
        }
    }

    func close() { Glibc.close(socket) }

    /// Closes the connection with a reset.
    func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        Glibc.close(socket)
    }

    private func blocking<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try work() }) }
        }
    }
}
