import AuthAPI
import ChildProcesses
import ConversationsAPI
import Crypto
import Foundation
import Glibc
import HTTPTypes
import ServiceClient
import TestSupport
import Testing
import Wire

/// Published clients of two protocol versions, through the gateway and two instances.
extension SuiteTests {
    @Suite("Sockets across instances") struct SocketTests {
        private static let variants = [5, 4].flatMap { version in
            ["polling", "websocket", "upgrade"].map { (version: version, transport: $0) }
        }

        @Test("python-socketio 4 and 5 complete a journey over every transport")
        func clients() async throws {
            let ports = try LoopbackPort.free(2).map(\.number)
            let settings = [
                // A client that signs in by an event has this many seconds.
                "RATE_USER": "0", "RATE_REGISTER": "0", "AUTHENTICATE_TIMEOUT": "5",
                "CONVERSATIONS_URL": "http://127.0.0.1:\(ports[0]),http://127.0.0.1:\(ports[1])",
            ]
            try await RunningSuite.with(settings: settings) { suite in
                let ana = try await suite.person("ana")
                let bob = try await suite.person("bob")
                for (version, transport) in Self.variants {
                    let journey = try await ProcessCommand(
                        try await PythonPrograms.path("\(version)"),
                        [
                            "\(PythonPrograms.scripts)/socket-journey.py", "http://127.0.0.1:\(suite.gatewayPort)",
                            transport, ana.signIn.jwt, bob.signIn.jwt,
                        ],
                        environment: ProcessInfo.processInfo.environment
                    ).run(within: .seconds(200))
                    #expect(
                        journey.status.isSuccess,
                        "python-socketio \(version) by \(transport): \(journey.output)"
                    )
                }
            }
        }

        @Test("A sign-out disconnects the session's sockets at both instances")
        func logout() async throws {
            let ports = try LoopbackPort.free(2).map(\.number)
            let urls = ports.map { "http://127.0.0.1:\($0)" }
            try await RunningSuite.with(settings: ["CONVERSATIONS_URL": urls.joined(separator: ",")]) { suite in
                let ana = try await suite.person("ana")
                let other = try await Self.socket(of: suite.person("bob"), at: suite)
                var sockets: [SocketClient] = []
                let tags = Set(urls.map(Self.tag))
                try await eventually(within: .seconds(60), "at both instances") {
                    sockets.append(try await Self.socket(of: ana, at: suite))
                    return Set(sockets.map { String($0.session.prefix(6)) }) == tags
                }
                let began = ContinuousClock.now
                _ = try await ana.service.send(.post, "/auth/logout")
                for socket in sockets { try await socket.end() }
                let took = began.duration(to: .now)
                #expect(took < SuiteTests.promptLimit, "\(sockets.count) sockets were disconnected after \(took)")
                #expect(try await other.ask("chats/list")["code"].int == 200)
            }
        }

        @Test(
            "After a stop or kill of its instance, a client reconnects and receives what it missed",
            arguments: [SIGTERM, SIGKILL]
        )
        func failover(_ signal: Int32) async throws {
            let ports = try LoopbackPort.free(2).map(\.number)
            let urls = ports.map { "http://127.0.0.1:\($0)" }
            let settings = ["CONVERSATIONS_URL": urls.joined(separator: ","), "DRAIN_DELAY": "3"]
            try await RunningSuite.with(settings: settings) { suite in
                let ana = try await suite.person("ana")
                let bob = try await suite.person("bob")
                let made = try await ana.conversations.create(
                    ConversationDraft(label: "x", members: [bob.signIn.userId])
                )
                let socket = try await Self.socket(of: bob, at: suite)
                let tags = urls.map(Self.tag)
                let number = try #require(tags.firstIndex { socket.session.hasPrefix($0) })

                try suite.process(["conversations", "conversations-2"][number]).signal(signal)
                try await socket.end()
                let draft = MessageDraft(data: "meanwhile", clientMessageId: "meanwhile")
                try await eventually(within: .seconds(60), "sent") {
                    // Silence: the gateway may still use a connection to the stopped instance.
                    (try? await ana.conversations.send(draft, to: made.token)) != nil
                }

                var missed: JSONValue?
                try await eventually(within: .seconds(60), "reconnected") {
                    // Silence: until the gateway finds out that the instance has stopped, it may route a session there.
                    let other = try? await Self.socket(of: bob, at: suite, last: [made.id.rawValue: 0])
                    missed = try? await other?.event("messages/sync")
                    return missed != nil
                }
                #expect(missed?["messages"].array.map(\.["data"].string) == ["meanwhile"])
            }
        }

        /// Returns the prefix of the session IDs of an instance.
        private static func tag(of url: String) -> String {
            String(Base64URL.encode(Array(SHA256.hash(data: Array(url.utf8)))).prefix(6))
        }

        /// Opens a signed-in socket through the gateway.
        private static func socket(
            of person: Person,
            at suite: RunningSuite,
            last: [Int64: Int64] = [:]
        ) async throws -> SocketClient {
            let known = last.map { #""\#($0)":\#($1)"# }.joined(separator: ",")
            let auth = #"{"token":"\#(person.signIn.jwt)","last":{\#(known)}}"#
            let socket = try await SocketClient(port: suite.gatewayPort, auth: auth)
            if last.isEmpty { _ = try await socket.event("authenticate") }
            return socket
        }
    }
}
