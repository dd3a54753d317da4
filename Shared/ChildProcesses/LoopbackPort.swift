import Foundation
import Glibc
import Locks

/// A TCP port of 127.0.0.1.
package struct LoopbackPort: Hashable, Sendable {
    package let number: Int

    /// What this process has given away: whoever was given one may not listen there yet.
    private static let given = Lock<Set<Int>>([])

    package init(_ number: Int) {
        self.number = number
    }

    /// Whether a server could listen there now.
    package var isFree: Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else {
            return false
        }
        defer { close(descriptor) }
        var yes: Int32 = 1
        // As servers do: what an earlier run's connections left in TIME_WAIT does not count.
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

    /// A free port that stays free for its server while that is down; this process is given it once.
    ///
    /// Taken from below the range that the system gives to outgoing connections (32768 and up): a client that calls
    /// a stopped server again and again could else be given the server's own port, and hold it.
    ///
    /// - Parameter range: apart from where other processes choose theirs at the same time.
    /// - Returns: one of the range.
    /// - Throws: `ProcessError` where there is none.
    package static func free(in range: Range<Int> = 20_000..<31_000) throws -> LoopbackPort {
        for _ in 0..<1_000 {
            let port = LoopbackPort(Int.random(in: range))
            if port.isFree, given.withLock({ $0.insert(port.number).inserted }) { return port }
        }
        throw ProcessError("no free port in \(range)")
    }

    /// So many free ports, each another.
    package static func free(_ count: Int) throws -> [LoopbackPort] {
        try (0..<count).map { _ in try free() }
    }

    /// The process that listens there, if it may be seen.
    package var listener: ProcessIdentity? {
        // The tables are handed out a page at a time, and skip sockets where others close in between: looked at again.
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
                // Silence: a descriptor may be closed meanwhile.
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(descriptor)")
                return target.map(sockets.contains) ?? false
            }
            // One that ends just now may have held it too: a child of the listener, not yet another program.
            if holds, let process = ProcessIdentity(pid: pid) {
                return process
            }
        }
        return nil
    }

    /// The names in a folder of `/proc`, whatever comes and goes there meanwhile; none where it may not be read.
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

    /// `proc(5)`: the second column is the local address with the port in hexadecimal, the fourth the state
    /// (0A listens), the tenth the inode.
    private static func listeningInodes(in table: String, port: Int) -> [String] {
        // Silence: a system without IPv6 has no second table.
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
