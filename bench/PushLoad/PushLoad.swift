import ArgumentParser
import Foundation
import PushProviders
import Synchronization

/// Sends notifications to an APNs server, and prints the rate as JSON.
@main struct PushLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "push-load")

    @Option(help: "The URL of APNs.") var url: String
    @Option(help: "A PEM file with the trusted authorities.") var authority: String
    @Option(help: "A PEM file with the developer account's key.") var key: String
    @Option(help: "The id of the key.") var keyID = "SANDBOXKEY"
    @Option(help: "The team id of the account.") var teamID = "SANDBOXDEV"
    @Option(help: "The topic, which is the app's id.") var topic = "org.example.roost"
    @Option(help: "The number of notifications.") var count = 100_000
    @Option(help: "The maximum number of notifications in flight.") var concurrency = 400
    @Option(help: "The number of connections.") var connections = 4

    func run() async throws {
        var configuration = APNsClient.Configuration()
        configuration.productionURL = url
        configuration.trustedAuthorities = try String(contentsOfFile: authority, encoding: .utf8)
        configuration.connections = connections
        let client = try APNsClient(
            credentials: .init(
                key: try String(contentsOfFile: key, encoding: .utf8),
                keyID: keyID,
                teamID: teamID,
                topic: topic
            ),
            configuration: configuration
        )
        let run = PushLoadRun(client: client)
        // This round opens the connections and signs the token before the measurement.
        await run.send(upTo: min(count, concurrency), concurrency)
        let began = (ContinuousClock.now, try Self.processorTime())
        await run.send(upTo: count, concurrency)
        let took = ContinuousClock.now - began.0
        let used = try Self.processorTime() - began.1
        await client.shutdown()
        let sent = Double(count - min(count, concurrency))
        let report: [String: Double] = [
            "accepted": Double(run.accepted), "refused": Double(run.refused),
            "perSecond": sent / (took / .seconds(1)), "processorMicroseconds": used / sent * 1_000_000,
        ]
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        print(String(decoding: try encoder.encode(report), as: UTF8.self))
    }

    private static func processorTime() throws -> Double {
        var usage = rusage()
        // RUSAGE_SELF is an enumeration or a number, depending on the C library.
        guard getrusage(.init(RUSAGE_SELF.rawValue), &usage) == 0 else { throw POSIXError(.EINVAL) }
        return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1_000_000 }
    }
}

final class PushLoadRun: Sendable {
    private let client: APNsClient
    private let next = Atomic(0)
    private let good = Atomic(0)
    private let bad = Atomic(0)

    init(client: APNsClient) {
        self.client = client
    }

    var accepted: Int { good.load(ordering: .relaxed) }
    var refused: Int { bad.load(ordering: .relaxed) }

    func send(upTo count: Int, _ concurrency: Int) async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<concurrency {
                group.addTask {
                    while true {
                        let number = self.next.wrappingAdd(1, ordering: .relaxed).oldValue
                        guard number < count else { break }
                        await self.send(number)
                    }
                    // This task took a number beyond the limit, which the next run needs.
                    self.next.wrappingSubtract(1, ordering: .relaxed)
                }
            }
        }
    }

    private func send(_ number: Int) async {
        let digits = String(number, radix: 16)
        let token = String(repeating: "0", count: 64 - digits.count) + digits
        let message = PushMessage(
            id: UUID(),
            title: "erik is live",
            body: "A quiet evening with the guitar and requests from the chat",
            data: ["url": .string("https://example.org/broadcasts/\(number)")],
            badge: 1,
            sound: "chord",
            collapseKey: "broadcast"
        )
        let reply = await client.send(message, to: .apns(token: token, environment: .production))
        if reply.outcome == .accepted {
            good.wrappingAdd(1, ordering: .relaxed)
        } else if bad.wrappingAdd(1, ordering: .relaxed).oldValue < 10 {
            FileHandle.standardError.write(Data("\(reply)\n".utf8))
        }
    }
}
