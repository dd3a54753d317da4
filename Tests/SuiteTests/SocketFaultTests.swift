import AuthAPI
import ChildProcesses
import ConversationsAPI
import Foundation
import Glibc
import TestSupport
import Testing
import Wire

extension SuiteTests {
    @Suite("Sockets during faults") struct SocketFaultTests {
        private static let unlimited = [
            "RATE_USER": "0", "RATE_REGISTER": "0", "RATE_ADDRESS": "0", "RATE_SOCKET": "0",
        ]

        /// Returns the settings for two instances of conversations, with other settings added.
        private static func settings(_ others: [String: String] = [:]) throws -> [String: String] {
            let urls = try LoopbackPort.free(2).map { "http://127.0.0.1:\($0.number)" }
            return unlimited.merging(["CONVERSATIONS_URL": urls.joined(separator: ",")]) { $1 }.merging(others) { $1 }
        }

        @Test(
            "Clients receive every message despite kills of instances, database and notifier",
            arguments: [nil, "nats-server"]
        )
        func kills(_ notifier: String?) async throws {
            try await NATSServer.with(isStarted: notifier != nil) { nats in
                let settings = try Self.settings(notifier == nil ? [:] : ["NATS_URL": nats.url])
                try await RunningSuite.with(settings: settings) { suite in
                    let (chat, jwts) = try await Self.chat(of: 4, at: suite)
                    let arguments = ["http://127.0.0.1:\(suite.gatewayPort)", chat] + jwts
                    try await PythonClients.with("socket-bursts.py", arguments) { clients in
                        try await clients.waitForLine("ready")
                        for victim in ["conversations", "postgresql", notifier, "conversations-2"].compactMap(\.self) {
                            try clients.sendLine("\(1_000 / (notifier == nil ? 3 : 4) + 1)")
                            try await clients.waitForLine("under way", within: .seconds(200))
                            if victim == notifier {
                                await nats.kill()
                                try await nats.start()
                            } else {
                                try suite.process(victim).signal(SIGKILL)
                            }
                            try await clients.waitForLine("done", within: .seconds(200))
                        }
                        // Each client asks for missing messages as long as messages may still arrive.
                        let status = try await clients.end(within: .seconds(300))
                        #expect(status == 0, "\(clients.output)")
                        print(clients.output)
                    }
                }
            }
        }

        @Test("Fifty clients that do not read are disconnected and take bounded memory")
        func slowReaders() async throws {
            let bytes = SuiteTests.isSoak ? 100_000_000 : 20_000_000
            let settings = try Self.settings(["SOCKET_BUFFER_BYTES": "\(1 << 20)", "SOCKETS_PER_USER_MAX": "200"])
            try await RunningSuite.with(settings: settings) { suite in
                let (chat, jwts) = try await Self.chat(of: 2, at: suite)
                let arguments = ["http://127.0.0.1:\(suite.gatewayPort)", chat, "\(bytes)", "50"] + jwts
                let names = ["conversations", "conversations-2", "gateway"]
                try await PythonClients.with("socket-slow-readers.py", arguments) { clients in
                    try await clients.waitForLine("ready")
                    let before = try names.map { try Self.peakMemory(of: suite.process($0)) }
                    try clients.sendLine("")
                    try await clients.waitForLine("said", within: .seconds(300))
                    let after = try names.map { try Self.peakMemory(of: suite.process($0)) }
                    for (name, growth) in zip(names, zip(before, after).map { $1 - $0 }) {
                        print("\(name): \(growth >> 20) MB more at its peak")
                        #expect(growth < Self.memory, "\(name) took \(growth >> 20) MB")
                    }
                    try clients.sendLine("")
                    let status = try await clients.end(within: .seconds(900))
                    #expect(status == 0, "\(clients.output)")
                    print(clients.output)
                }
            }
        }

        @Test(
            "All clients reconnect soon after a kill of the gateway or of conversations",
            arguments: ["gateway", "conversations"]
        )
        func massReconnect(_ victim: String) async throws {
            let count = SuiteTests.isSoak ? 5_000 : 300
            let settings = Self.unlimited.merging(["SOCKETS_PER_USER_MAX": "\(count)"]) { $1 }
            try await RunningSuite.with(settings: settings) { suite in
                let jwt = try await suite.person("many").signIn.jwt
                let arguments = ["http://127.0.0.1:\(suite.gatewayPort)", "\(count)", jwt]
                try await PythonClients.with("socket-reconnects.py", arguments) { clients in
                    try await clients.waitForLine("ready", within: .seconds(120))
                    try suite.process(victim).signal(SIGKILL)
                    // The promise is 30 seconds, and a test machine is slower.
                    try await clients.waitForLine("back", within: .seconds(SuiteTests.isSoak ? 30 : 120))
                    let status = try await clients.end()
                    #expect(status == 0, "\(clients.output)")
                    print(clients.output)
                }
            }
        }

        /// The most by which the peak memory of a process may grow, in bytes.
        private static let memory = 32 << 20

        /// Returns `VmHWM` of `proc(5)` in bytes, which includes peaks between two readings.
        private static func peakMemory(of process: ProcessIdentity) throws -> Int {
            let status = try String(contentsOfFile: "/proc/\(process.pid)/status", encoding: .utf8)
            let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
            let kilobytes = line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) }
            return try #require(kilobytes) * 1_024
        }

        /// Creates a chat of `count` users, and returns its ID and the users' tokens.
        private static func chat(of count: Int, at suite: RunningSuite) async throws -> (id: String, jwts: [String]) {
            var people: [Person] = []
            for number in 1...count { people.append(try await suite.person("member\(number)")) }
            let members = people.dropFirst().map(\.signIn.userId)
            let made = try await people[0].conversations.create(ConversationDraft(label: "x", members: members))
            return ("\(made.id.rawValue)", people.map(\.signIn.jwt))
        }
    }
}
