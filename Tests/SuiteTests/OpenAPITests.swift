import ChildProcesses
import Testing

/// The suite as its OpenAPI document describes it, asked by schemathesis.
extension SuiteTests {
    @Suite struct OpenAPITests {
        @Test func everyAnswerIsAsTheDocumentSays() async throws {
            try await RunningSuite.with { suite in
                let command = ProcessCommand(
                    "\(SuiteTests.root)/scripts/schemathesis",
                    ["http://127.0.0.1:\(suite.gatewayPort)"],
                    environment: suite.environment
                )

                // It takes a minute; on its first run it also installs itself.
                let (status, output) = try await command.run(within: .seconds(300))

                #expect(status.isSuccess, "\(output)")
            }
        }
    }
}
