import ChildProcesses
import Foundation
import LocalPostgres
import Logging
import Postgres
import ServiceClient
import Testing

extension SuiteTests {
    @Suite("Concurrent migrations") struct MigrationTests {
        @Test(
            "One of six concurrent instances applies the migrations",
            arguments: ["auth", "conversations", "photos", "push", "social"]
        )
        func oneApplies(service: String) async throws {
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let server = try await PostgresServer.temporary(logger: logger)
            do {
                let outputs = try await withThrowingTaskGroup(of: String.self) { group in
                    for _ in 1...6 {
                        group.addTask { try await migrate(service, at: server.url()) }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }

                let applied = outputs.map { $0.components(separatedBy: "\"message\":\"migration applied\"").count - 1 }
                #expect(applied.filter { $0 > 0 }.count == 1, "\(applied)")
                #expect(try await count(service, at: server.url()) == applied.max())
                await server.discard()
            } catch {
                await server.discard()
                throw error
            }
        }

        /// Runs the migrations of a service as `roost migrate` does.
        private func migrate(_ service: String, at url: String) async throws -> String {
            var environment = ProcessInfo.processInfo.environment
            environment["DATABASE_URL"] = url
            environment["SERVICE_SECRET"] = String(repeating: "s", count: 32)
            environment["MIGRATE_ONLY"] = "1"
            let command = ProcessCommand(RunningSuite.binaries + service, environment: environment)
            let (status, output) = try await command.run(within: .seconds(180))
            #expect(status.isSuccess, "\(output)")
            return output
        }

        private func count(_ schema: String, at url: String) async throws -> Int {
            var configuration = try PostgresConfiguration(url: url)
            configuration.schema = schema
            let pool = PostgresPool(
                configuration: configuration,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            let count = try await pool.one(
                "SELECT count(*) AS count FROM schema_migrations",
                as: { try $0.int("count") }
            )
            await pool.shutdown()
            return count
        }
    }
}
