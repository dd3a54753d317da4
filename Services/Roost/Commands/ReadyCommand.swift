import ArgumentParser

/// `roost ready`: one service's own word on whether it is ready, for a health check where there is no curl.
struct ReadyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ready",
        abstract: "Asks a service whether it is ready; ends with 1 if it is not."
    )

    @Argument(help: "Its address, like http://127.0.0.1:8080.")
    var url: String

    @Option(help: "Seconds to wait for the answer.")
    var timeout = 3

    func validate() throws {
        guard 1...60 ~= timeout else {
            throw ValidationError("--timeout is in seconds, 1 to 60.")
        }
    }

    func run() async throws {
        switch await Readiness.of(url, within: .seconds(timeout)) {
        case .ready:
            return
        case .notReady(let status, let body):
            print("\(url) answers \(status): \(body.prefix(300))")
        case .unreachable:
            print("\(url) does not answer")
        }
        throw ExitCode.failure
    }
}
