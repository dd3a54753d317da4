import ChildProcesses
import Foundation
import Glibc
import HTTPTypes
import ServiceClient
import Testing

/// The supervisor's handling of a process that traps, hangs or is stopped.
extension SuiteTests {
    @Suite("Crashes") struct CrashTests {
        /// Waits until another process of the service responds to users.
        private func isBack(
            _ suite: RunningSuite,
            _ name: String,
            instead former: ProcessIdentity,
            by person: Person
        ) async throws {
            try await eventually(within: .seconds(120), "back") {
                // Silence: a starting process is not recorded yet, and requests get 502 or 503 meanwhile.
                guard let process = try? suite.process(name), process != former else { return false }
                return (try? await person.service.send(.get, "/conversations").status) == 200
            }
        }

        private func text(_ suite: RunningSuite, _ path: String, port: Int) async throws -> String {
            String(decoding: try await suite.client(port: port, jwt: nil).send(.get, path).body, as: UTF8.self)
        }

        @Test("A service that traps is started again, and the exit is shown everywhere")
        func trap() async throws {
            try await RunningSuite.with { suite in
                let ana = try await suite.person("ana")
                let victim = try suite.process("conversations")

                try FaultInjection.trap(victim)
                let began = ContinuousClock.now
                #expect(await victim.hasEnded(within: .seconds(60)))
                let ended = ContinuousClock.now - began
                try await isBack(suite, "conversations", instead: victim, by: ana)
                print("conversations: gone after \(ended), back after \(ContinuousClock.now - began)")

                let log = "\(suite.directory)/.roost/logs"
                let restarts = try String(contentsOfFile: "\(log)/restarts.log", encoding: .utf8)
                #expect(restarts.contains(#""process":"conversations""#))
                #expect(restarts.contains(#""end":"signal 4""#))
                #expect(suite.output.contains("conversations exited with signal 4; restarting"))
                let backtrace = try String(contentsOfFile: "\(log)/conversations.log", encoding: .utf8)
                #expect(backtrace.contains("Program crashed"))
                #expect(backtrace.contains("libc.so.6"), "a backtrace without images has meaningless addresses")
                let metrics = try await text(suite, "/metrics", port: suite.conversationsPort)
                #expect(metrics.contains("roost_process_starts_total 2"))
                try await eventually(within: .seconds(60), "in the status") {
                    try await text(suite, "/status", port: suite.gatewayPort).contains(#""reason":"signal 4""#)
                }
                let doctor = try await suite.roost("doctor").run(within: .seconds(60))
                #expect(doctor.output.contains("conversations exited once in the last 10 minutes, last with signal 4"))
            }
        }

        @Test("A service that does not respond is killed and started again")
        func silent() async throws {
            try await RunningSuite.with(options: ["--liveness-timeout", "5"]) { suite in
                let ana = try await suite.person("ana")
                let victim = try suite.process("conversations")

                victim.signal(SIGSTOP)

                try await isBack(suite, "conversations", instead: victim, by: ana)
                #expect(suite.output.contains("conversations has not responded for 5.0 seconds; killing it"))
                let restarts = try String(
                    contentsOfFile: "\(suite.directory)/.roost/logs/restarts.log",
                    encoding: .utf8
                )
                #expect(restarts.contains("signal 9, after no response"))
            }
        }

        @Test("A process whose event loops hang ends itself and is started again")
        func hang() async throws {
            try await RunningSuite.with { suite in
                let ana = try await suite.person("ana")
                let victim = try suite.process("conversations")

                try FaultInjection.hang(victim)

                try await isBack(suite, "conversations", instead: victim, by: ana)
                #expect(suite.output.contains("stalled; ending the process"))
                #expect(suite.output.contains("conversations exited with signal 6"))
            }
        }

        @Test("A process that was suspended for longer than the watchdog's limit continues")
        func suspended() async throws {
            try await RunningSuite.with { suite in
                let ana = try await suite.person("ana")
                let victim = try suite.process("conversations")

                victim.signal(SIGSTOP)
                // Longer than the watchdog's limit, shorter than the supervisor's.
                try await Task.sleep(for: .seconds(12))
                victim.signal(SIGCONT)

                try await eventually(within: .seconds(60), "answering") {
                    (try? await ana.service.send(.get, "/conversations").status) == 200
                }
                try await Task.sleep(for: .seconds(2))
                #expect(try suite.process("conversations") == victim)
            }
        }
    }
}
