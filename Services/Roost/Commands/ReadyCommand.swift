import ArgumentParser

/// `roost ready`: a health check for containers without curl.
struct ReadyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ready",
        abstract: "Checks whether a service is ready; exits with 1 if it is not."
    )

    @Argument(help: "The URL of the service, for example http://127.0.0.1:8080.")
    var url: String

    @Option(help: "Seconds to wait for the response.")
    var timeout = 3

    func validate() throws {
        guard 1...60 ~= timeout else {
            throw ValidationError("--timeout must be 1 to 60 seconds")
        }
    }

    func run() async throws {
        switch await Readiness.of(url, within: .seconds(timeout)) {
        case .ready:
            return
        case .notReady(let status, let body):
            print("\(url) responds with \(status): \(body.prefix(300))")
        case .unreachable:
            print("\(url) does not respond")
        }
        throw ExitCode.failure
    }
}
