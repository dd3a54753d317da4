import ChildProcesses
import Foundation
import Glibc
import Testing

@Suite("Loopback ports") struct LoopbackPortTests {
    @Test("A port that a process listens on is not free, and names the process")
    func takenPort() async throws {
        let port = try LoopbackPort.free()
        #expect(try await becomesTrue { port.isFree })
        #expect(try await becomesTrue { port.listener == nil })

        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(server) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port.number)).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        let isBound = try await becomesTrue {
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
        }
        #expect(isBound)
        #expect(listen(server, 1) == 0)

        #expect(!port.isFree)
        #expect(try await becomesTrue { port.listener == ProcessIdentity.current })
    }

    /// Waits for a condition that parallel tests may prevent for a moment: the kernel's tables skip entries while
    /// others are removed, and a child that is starting shares the sockets of its parent until it executes its program.
    private func becomesTrue(_ condition: () -> Bool) async throws -> Bool {
        for _ in 0..<400 {
            if condition() { return true }
            try await Task.sleep(for: .milliseconds(50))
        }
        return false
    }

    @Test("Free ports come from the range for tests")
    func freePortRange() throws {
        #expect(try 20_000..<31_000 ~= LoopbackPort.free().number)
    }

    /// A caller may not listen yet on the port that it was given.
    @Test("No port is given twice")
    func uniquePorts() throws {
        let range = 32_000..<32_010
        let free = range.count { LoopbackPort($0).isFree }
        let ports = (0..<free).compactMap { _ in try? LoopbackPort.free(in: range) }
        #expect(Set(ports).count == ports.count)
        #expect(ports.count > 5)
        #expect(throws: ProcessError.self) { try LoopbackPort.free(in: range) }
    }
}
