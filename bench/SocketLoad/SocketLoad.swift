import ArgumentParser
import Foundation
import NIOCore
import NIOPosix

/// Many Socket.IO clients in one thread, as the source of load: cheap enough not to be what is measured.
@main
struct SocketLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "socket-load",
        abstract: "Opens WebSockets of Socket.IO, says things over them and counts what arrives.",
        discussion: """
            Prints a line once all are connected. Then each line of its input is a load, answered by a line of JSON: \
            `window N SECONDS` keeps N messages under way, `rate N SECONDS` says N a second. The end of its input ends it.
            In what is said, `%` is where the filler with the time goes, and `#` the number of an acknowledgement.
            """
    )

    @Option(help: "The port of 127.0.0.1 to connect to.")
    var port: Int
    @Option(help: "How many clients listen.")
    var clients: Int
    @Option(help: "How many more only speak; 0 lets the listeners speak, who do not hear what they said themselves.")
    var senders = 0
    @Option(help: "A file of the connect packets of the listeners, one a line, used in turns.")
    var connects: String?
    @Option(help: "What a listener says once it is connected.")
    var join: String?
    @Option(help: "How the packet begins that tells a listener that it is in.")
    var ready: String?
    @Option(help: "What is said.")
    var send = ""
    @Option(help: "How a packet begins that is counted.")
    var expect = ""
    @Option(help: "Bytes of filler in what is said.")
    var bytes = 100
    @Option(help: "Seconds after which it ends whatever happens.")
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
        loop.scheduleTask(in: .seconds(Int64(timeout))) { ClientPool.fail("out of patience") }
        try await loop.flatSubmit { clientPool.connect() }.get()
        Self.printLine("connected")
        while let line = readLine() {
            guard let load = Load(line) else { throw ValidationError("there is no load \(line)") }
            Self.printLine(try await loop.flatSubmit { clientPool.run(load) }.get())
        }
    }

    private static func printLine(_ line: String) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }
}

/// What is done with the clients.
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

    /// How many are to hear what one says.
    var receivers: Int { senders > 0 ? listeners : listeners - 1 }
}

/// What one line asks for.
struct Load: Sendable {
    enum Pace {
        /// So many messages are under way: not yet heard by all.
        case window(Int)
        /// So many are said a second, whatever is heard.
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
