import ChildProcesses
import Foundation
import Glibc
import Testing

@Suite struct LoopbackPortTests {
    @Test func takenPort() async throws {
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
        #expect(isBound && listen(server, 1) == 0)

        #expect(!port.isFree)
        #expect(try await becomesTrue { port.listener == ProcessIdentity.current })
    }

    /// Waits for what the tests beside this one may keep from being so for a moment: the kernel's tables skip entries
    /// while others go, and a child that is being started has what a port was tried with until it is another program.
    private func becomesTrue(_ condition: () -> Bool) async throws -> Bool {
        for _ in 0..<400 {
            if condition() { return true }
            try await Task.sleep(for: .milliseconds(50))
        }
        return false
    }

    @Test func freePortRange() throws {
        #expect(try 20_000..<31_000 ~= LoopbackPort.free().number)
    }

    /// Whoever was given one may not have begun to listen there.
    @Test func uniquePorts() throws {
        let range = 32_000..<32_010
        let free = range.count { LoopbackPort($0).isFree }
        let ports = (0..<free).compactMap { _ in try? LoopbackPort.free(in: range) }
        #expect(Set(ports).count == ports.count && ports.count > 5)
        #expect(throws: ProcessError.self) { try LoopbackPort.free(in: range) }
    }
}
