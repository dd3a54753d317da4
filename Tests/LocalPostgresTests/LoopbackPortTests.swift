import ChildProcesses
import Foundation
import Glibc
import Testing

@Suite struct LoopbackPortTests {
    @Test func aTakenPortIsKnownAndSoIsWhoTookIt() async throws {
        let port = try LoopbackPort.free()
        #expect(port.isFree)
        #expect(port.listener == nil)

        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(server) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port.number)).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        #expect(bound == 0 && listen(server, 1) == 0)

        #expect(!port.isFree)
        // The kernel's tables skip entries while others go, and the tests beside this one open and close many.
        var listener = port.listener
        for _ in 0..<100 where listener == nil {
            try await Task.sleep(for: .milliseconds(50))
            listener = port.listener
        }
        #expect(listener == ProcessIdentity.current)
    }

    @Test func aFreePortIsNotOneThatTheSystemGivesAway() throws {
        #expect(try 20_000..<31_000 ~= LoopbackPort.free().number)
    }

    /// Whoever was given one may not have begun to listen there.
    @Test func noPortIsGivenAwayTwice() throws {
        let range = 32_000..<32_010
        let free = range.count { LoopbackPort($0).isFree }
        let ports = (0..<free).compactMap { _ in try? LoopbackPort.free(in: range) }
        #expect(Set(ports).count == ports.count && ports.count > 5)
        #expect(throws: ProcessError.self) { try LoopbackPort.free(in: range) }
    }
}
