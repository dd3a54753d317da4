import Foundation
import Glibc
import Locks

/// A TCP port of 127.0.0.1.
package struct LoopbackPort: Hashable, Sendable {
    package let number: Int

    /// The ports that `free(in:)` has returned; their servers may not be listening yet.
    private static let reserved = Lock<Set<Int>>([])

    package init(_ number: Int) {
        self.number = number
    }

    /// Whether a server could listen on the port now.
    package var isFree: Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else {
            return false
        }
        defer { close(descriptor) }
        var yes: Int32 = 1
        // Like servers do, so that connections of an earlier run in TIME_WAIT do not count.
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(clamping: number)).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 && listen(descriptor, 1) == 0
            }
        }
    }

    /// Returns a free port that stays free for its server while the server is down; each port is returned once.
    ///
    /// The range is below the system's range for outgoing connections (32768 and up). Otherwise a client that retries a
    /// stopped server could be assigned the server's own port and occupy it.
    ///
    /// - Parameter range: the range of ports, disjoint from those of other processes that choose ports at the same
    ///   time.
    /// - Returns: a port of the range.
    /// - Throws: a `ProcessError` if no port is free.
    package static func free(in range: Range<Int> = 20_000..<31_000) throws -> LoopbackPort {
        for _ in 0..<1_000 {
            let port = LoopbackPort(Int.random(in: range))
            if port.isFree, reserved.withLock({ $0.insert(port.number).inserted }) { return port }
        }
        throw ProcessError("no free port in \(range)")
    }

    /// Returns a number of different free ports.
    package static func free(_ count: Int) throws -> [LoopbackPort] {
        try (0..<count).map { _ in try free() }
    }

    /// The process that listens on the port; nil if there is none or it is not visible.
    package var listener: ProcessIdentity? {
        // The kernel returns the tables page by page and may skip sockets when others close, so reading is repeated.
        let inodes = (1...5).lazy.map { _ in
            ["/proc/net/tcp", "/proc/net/tcp6"].flatMap { Self.listeningInodes(in: $0, port: number) }
        }.first { !$0.isEmpty }
        guard let inodes else {
            return nil
        }
        let sockets = Set(inodes.map { "socket:[\($0)]" })
        for pid in Self.entries(of: "/proc").compactMap(Int32.init) {
            let folder = "/proc/\(pid)/fd"
            let holds = Self.entries(of: folder).contains { descriptor in
                // The descriptor may be closed meanwhile.
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(descriptor)")
                return target.map(sockets.contains) ?? false
            }
            // A process that is ending may hold the socket too: a child of the listener before its exec.
            if holds, let process = ProcessIdentity(pid: pid) {
                return process
            }
        }
        return nil
    }

    /// Returns the names in a folder of `/proc`, whose content may change meanwhile; empty if it cannot be read.
    private static func entries(of folder: String) -> [String] {
        guard let stream = opendir(folder) else {
            return []
        }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            names.append(name)
        }
        return names
    }

    /// Returns the inodes of sockets that listen on a port.
    ///
    /// Source: `proc(5)`. The second column is the local address with the port in hexadecimal, the fourth the state (0A
    /// is listening), the tenth the inode.
    ///
    /// - Parameters:
    ///   - table: the path of the table.
    ///   - port: the port.
    /// - Returns: the inodes.
    private static func listeningInodes(in table: String, port: Int) -> [String] {
        // A system without IPv6 has no second table.
        let lines = (try? String(contentsOfFile: table, encoding: .utf8))?.split(separator: "\n") ?? []
        return lines.dropFirst().compactMap { line in
            let fields = line.split(separator: " ")
            guard fields.count > 9, fields[3] == "0A", let hex = fields[1].split(separator: ":").last,
                Int(hex, radix: 16) == port
            else {
                return nil
            }
            return String(fields[9])
        }
    }
}
