import Foundation
import Glibc
import Synchronization
import TestSupport

/// A proxy between a client and a server that applies a fault to each request.
final class FaultProxy: Sendable {
    enum Fault: Sendable {
        case pass
        /// A response of the proxy; the request does not reach the server.
        case answer(String)
        /// No response for as long as the client waits.
        case silence
        /// The request is forwarded, and the response is lost.
        case loseResponse
        /// The request is forwarded, and only the first bytes of the response come back.
        case cutResponse(after: Int)
    }

    let port: Int
    private let upstream: Int
    private let listener: Int32
    /// Chooses the fault by the request line and the number of earlier requests with this method.
    private let act: @Sendable (_ line: String, _ before: Int) -> Fault
    private let seen = Mutex<[String]>([])

    init(to upstream: Int, _ act: @escaping @Sendable (_ line: String, _ before: Int) -> Fault) throws {
        self.upstream = upstream
        self.act = act
        (listener, port) = try Self.listen()
        Thread { [listener] in
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { return }
                Thread { [weak self] in
                    self?.serve(descriptor)
                    close(descriptor)
                }.start()
            }
        }.start()
    }

    /// The request lines of all requests so far.
    var lines: [String] { seen.withLock { $0 } }

    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

    private func serve(_ client: Int32) {
        while let request = Self.request(from: client) {
            let line = String(decoding: request.prefix { $0 != 13 }, as: UTF8.self)
            let method = line.prefix { $0 != " " }
            let before = seen.withLock { seen in
                defer { seen.append(line) }
                return seen.count { $0.hasPrefix("\(method) ") }
            }
            switch act(line, before) {
            case .pass: return pass(request, to: client, atMost: .max)
            case .cutResponse(let count): return pass(request, to: client, atMost: count)
            case .loseResponse: return pass(request, to: client, atMost: 0)
            case .answer(let text): Self.send(Array(text.utf8), to: client)
            case .silence:
                var byte: UInt8 = 0
                _ = recv(client, &byte, 1, 0)
                return
            }
        }
    }

    /// Forwards over a new connection, which ends with the response.
    private func pass(_ request: [UInt8], to client: Int32, atMost limit: Int) {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(server) }
        var address = Self.loopback(upstream)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected, let end = Self.endOfHead(request) else { return }
        Self.send(request[..<(end - 2)] + Array("connection: close\r\n\r\n".utf8) + request[end...], to: server)
        var left = limit
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(server, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            Self.send(Array(buffer.prefix(min(count, left))), to: client)
            left -= min(count, left)
            // For a lost response the whole response is read, so that the server has completed the request.
            if left == 0, limit > 0 { return }
        }
    }

    private static func request(from client: Int32) -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            if let end = endOfHead(bytes) {
                let head = String(decoding: bytes[..<end], as: UTF8.self).lowercased()
                let length = head.split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
                    .flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) }
                if bytes.count >= end + (length ?? 0) { return bytes }
            }
            let count = recv(client, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            bytes += buffer.prefix(count)
        }
    }

    private static func endOfHead(_ bytes: [UInt8]) -> Int? {
        guard bytes.count >= 4 else { return nil }
        let last = min(bytes.count - 4, 65_536)
        return (0...last).first { bytes[$0] == 13 && bytes[$0 + 1] == 10 && bytes[$0 + 2] == 13 && bytes[$0 + 3] == 10 }
            .map { $0 + 4 }
    }

    private static func send(_ bytes: [UInt8], to descriptor: Int32) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }

    private static func listen() throws -> (Int32, Int) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = loopback(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && Glibc.listen(descriptor, 64) == 0
                    && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isListening else { throw TestSupportError("no port to listen on") }
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }

    private static func loopback(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(clamping: port)).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        return address
    }
}

extension FaultProxy.Fault {
    /// An error in the format of S3.
    static func error(_ status: Int, _ code: String) -> Self {
        let body = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>\(code)</Code><Message>m</Message></Error>"
        return .answer("HTTP/1.1 \(status) Status\r\ncontent-length: \(body.utf8.count)\r\n\r\n\(body)")
    }
}
