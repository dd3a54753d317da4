import ChildProcesses
import ConversationsAPI
import Foundation
import HTTPTypes
import ServiceClient
import Glibc
import Testing

extension SuiteTests {
    @Suite("roost up") struct SupervisorTests {
        @Test("An interrupt stops all processes cleanly, and the data survives")
        func cleanShutdown() async throws {
            try await RunningSuite.with { suite in
                let ana = try await suite.person("ana")
                let made = try await ana.conversations.create(ConversationDraft(label: "kept"))
                let before = suite.processes()
                #expect(before.count == RunningSuite.programs.count)
                let supervisor = try #require(suite.supervisor)

                supervisor.signal(SIGINT)

                #expect(await supervisor.exit(within: .seconds(60)) == .code(0))
                #expect(before.allSatisfy { !$0.isAlive })
                #expect(!suite.output.contains("killing it"))

                try await suite.start()
                #expect(try await ana.conversations.conversation(made.token).label == "kept")
            }
        }

        @Test("No process outlives a killed supervisor")
        func killedSupervisor() async throws {
            try await RunningSuite.with { suite in
                let processes = suite.processes()
                let supervisor = try #require(suite.supervisor)

                supervisor.signal(SIGKILL)

                for process in processes {
                    #expect(await process.hasEnded(within: .seconds(60)), "\(process.commandLine)")
                }
            }
        }

        @Test("The next start ends leftover processes")
        func leftovers() async throws {
            try await RunningSuite.with { suite in
                // A stopped process does not notice the end of its input.
                let leftover = try suite.process("conversations")
                leftover.signal(SIGSTOP)
                let supervisor = try #require(suite.supervisor)
                supervisor.signal(SIGKILL)
                _ = await supervisor.exit()

                try await suite.start()

                #expect(!leftover.isAlive)
                #expect(try suite.process("conversations").isAlive)
                #expect(try suite.process("postgresql").isAlive)
            }
        }

        @Test("A second interrupt ends all processes at once")
        func secondInterrupt() async throws {
            // The drain would last longer than the test.
            try await RunningSuite.with(settings: ["DRAIN_TIMEOUT": "300"]) { suite in
                try suite.process("auth").signal(SIGSTOP)
                let supervisor = try #require(suite.supervisor)

                supervisor.signal(SIGINT)
                try await eventually(within: .seconds(60), "stopping") { suite.output.contains("stopping") }
                supervisor.signal(SIGINT)

                #expect(await supervisor.exit(within: .seconds(60)) != nil)
                #expect(suite.processes().isEmpty)
            }
        }

        @Test("A second supervisor for the same checkout does not start")
        func secondSupervisor() async throws {
            try await RunningSuite.with { suite in
                let supervisor = try #require(suite.supervisor)

                let (status, output) = try await suite.roost("up").run(within: .seconds(60))

                #expect(status == .code(1))
                #expect(output.contains("already runs for this checkout"))
                #expect(output.contains("\(supervisor.pid)"))
                #expect(suite.processes().count == RunningSuite.programs.count)
            }
        }

        @Test("A port in use is reported with the process that uses it")
        func portInUse() async throws {
            try await RunningSuite.with { first in
                try await RunningSuite.with(settings: ["PORT": "\(first.authPort)"], isStarted: false) { second in
                    let (status, output) = try await second.roost("up").run(within: .seconds(60))

                    #expect(status == .code(1))
                    #expect(output.contains("port \(first.authPort), for gateway, is in use by process"))
                    #expect(output.contains("\(try first.process("auth").pid)"))
                }
            }
        }

        @Test("A service that cannot start stops the supervisor, which reports the cause")
        func startLimit() async throws {
            try await RunningSuite.with(settings: ["WRITE_SHARDS": "none"], isStarted: false) { suite in
                let (status, output) = try await suite.roost("up").run(within: .seconds(120))

                #expect(status == .code(1))
                #expect(output.contains("WRITE_SHARDS"))
                #expect(suite.processes().isEmpty)
            }
        }

        @Test("doctor, migrate and keys rotate work with running services")
        func operatorCommands() async throws {
            try await RunningSuite.with { suite in
                let ana = try await suite.person("ana")

                let doctor = try await suite.roost("doctor").run(within: .seconds(60))
                #expect(doctor.status.isSuccess, "\(doctor.output)")
                #expect(doctor.output.contains("gateway is ready"))
                #expect(doctor.output.contains("roost_auth owns the schema auth and can use no other"))

                let migrate = try await suite.roost("migrate").run(within: .seconds(60))
                #expect(migrate.status.isSuccess, "\(migrate.output)")
                #expect(migrate.output.contains("conversations is up to date"))

                let rotate = try await suite.roost("keys", "rotate").run(within: .seconds(60))
                #expect(rotate.status.isSuccess, "\(rotate.output)")
                // One token is signed with the previous key, and one with the current key.
                #expect(try await ana.service.send(.get, "/auth/me").status == 200)
                let bo = try await suite.person("bo")
                #expect(try await bo.service.send(.get, "/conversations").status == 200)

                try suite.process("conversations").signal(SIGSTOP)
                let unhealthy = try await suite.roost("doctor").run(within: .seconds(60))
                try suite.process("conversations").signal(SIGCONT)
                #expect(unhealthy.status == .code(1))
                #expect(unhealthy.output.contains("conversations does not respond"))
            }
        }
    }
}
