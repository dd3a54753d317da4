import ArgumentParser
import Foundation
import NIOCore
import NIOPosix

/// A load generator of many Socket.IO clients in one thread, cheap enough to affect the measurement little.
@main
struct SocketLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "socket-load",
        abstract: "Opens Socket.IO connections over WebSocket, sends messages and counts deliveries.",
        discussion: """
            Prints a line when all clients are connected. Each line of the standard input is then a load, and its \
            result is a line of JSON. `window N SECONDS` keeps N messages in flight; `rate N SECONDS` sends N per \
            second. The program ends at the end of its input.

            In a message, `%` is replaced by filler with a timestamp, and `#` by an acknowledgement id.
            """
    )

    @Option(help: "The port of 127.0.0.1 to connect to.")
    var port: Int
    @Option(help: "The number of clients that receive.")
    var clients: Int
    @Option(help: "The number of further clients that only send; 0 makes the receivers send, except to themselves.")
    var senders = 0
    @Option(help: "A file with connect packets for the receivers, one per line, used in turn.")
    var connects: String?
    @Option(help: "The packet that a receiver sends after it is connected.")
    var join: String?
    @Option(help: "The prefix of the packet after which a receiver is ready.")
    var ready: String?
    @Option(help: "The message packet.")
    var send = ""
    @Option(help: "The prefix of the packets to count.")
    var expect = ""
    @Option(help: "The bytes of filler in a message.")
    var bytes = 100
    @Option(help: "The seconds after which the program fails.")
    var timeout = 120

    func run() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let plan = Plan(
            port: port,
            listeners: clients,
            senders: senders,
            connects: try connects.map { try String(contentsOfFile: $0, encoding: .utf8).split(separator: "\n") } ?? [
                "40"
            ],
            join: join,
            ready: ready.map { Array($0.utf8) },
            send: send,
            expect: Array(expect.utf8),
            bytes: bytes
        )
        let clientPool = ClientPool(plan: plan, loop: loop)
        loop.scheduleTask(in: .seconds(Int64(timeout))) { ClientPool.fail("timed out") }
        try await loop.flatSubmit { clientPool.connect() }.get()
        Self.printLine("connected")
        while let line = readLine() {
            guard let load = Load(line) else { throw ValidationError("invalid load: \(line)") }
            Self.printLine(try await loop.flatSubmit { clientPool.run(load) }.get())
        }
    }

    private static func printLine(_ line: String) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }
}

struct Plan: Sendable {
    let port: Int
    let listeners: Int
    let senders: Int
    let connects: [Substring]
    let join: String?
    let ready: [UInt8]?
    let send: String
    let expect: [UInt8]
    let bytes: Int

    var receivers: Int { senders > 0 ? listeners : listeners - 1 }
}

/// The load that one input line requests.
struct Load: Sendable {
    enum Pace {
        /// The number of messages in flight, which not all clients have received.
        case window(Int)
        /// The number of messages per second, independent of deliveries.
        case rate(Int)
    }

    let pace: Pace
    let seconds: Int

    init?(_ line: String) {
        let words = line.split(separator: " ")
        guard words.count == 3, let number = Int(words[1]), number > 0, let seconds = Int(words[2]), 1...30 ~= seconds
        else { return nil }
        switch words[0] {
        case "window": pace = .window(number)
        case "rate": pace = .rate(number)
        default: return nil
        }
        self.seconds = seconds
    }
}
