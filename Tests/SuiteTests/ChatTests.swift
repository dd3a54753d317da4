import AuthAPI
import ChildProcesses
import ConversationsAPI
import Foundation
import Glibc
import Synchronization
import Testing

/// `roost chat` as scripts use it, through the gateway.
extension SuiteTests {
    @Suite struct ChatTests {
        /// What is said while the service is killed and comes back is there once, for both, and in one order.
        @Test func chatAcrossRestart() async throws {
            try await RunningSuite.with { suite in
                let ana = try await suite.person("ana")
                let made = try await ana.conversations.create(ConversationDraft(label: "walk"))
                let one = try await RunningChat.start(suite, ["--username", "cleo", "--register"], made.token)
                let other = try await RunningChat.start(suite, ["--username", "dan", "--register"], made.token)

                one.type("shall we?\n")
                try await other.waitForTranscript(["cleo: shall we?"])
                other.type("at \u{1B}[2Jten\n")
                try await one.waitForTranscript(["cleo: shall we?", "dan: at \\u{1b}[2Jten"])

                one.type((0..<20).map { "before \($0)\n" }.joined())
                try suite.process("conversations").signal(SIGKILL)
                other.type((0..<20).map { "after \($0)\n" }.joined())
                let before = (0..<20).map { "cleo: before \($0)" }
                let after = (0..<20).map { "dan: after \($0)" }
                for chat in [one, other] {
                    try await eventually(within: .seconds(90), "all was said") { chat.transcript.count >= 42 }
                    #expect(chat.transcript.filter { $0.hasPrefix("cleo: before") } == before)
                    #expect(chat.transcript.filter { $0.hasPrefix("dan: after") } == after)
                }
                #expect(one.transcript.count == 42 && one.transcript == other.transcript)

                #expect(await one.leave() == 0)
                #expect(await other.leave() == 0)
                let record = try await ana.conversations.messages(made.token, query: [("count", "100")])
                #expect(record.filter { $0.senderUser != nil }.count == 42)
            }
        }
    }
}

/// `roost chat` in a process of its own, with pipes for a terminal.
private final class RunningChat: Sendable {
    private let process: Process
    private let input = Pipe()
    private let output = Mutex("")
    private let ended = AsyncStream.makeStream(of: Int32.self)

    static func start(_ suite: RunningSuite, _ arguments: [String], _ token: String) async throws -> RunningChat {
        let chat = RunningChat(
            arguments + ["--url", "http://127.0.0.1:\(suite.gatewayPort)", "--conversation", token]
        )
        try chat.process.run()
        return chat
    }

    private init(_ arguments: [String]) {
        process = Process()
        process.executableURL = URL(filePath: "\(RunningSuite.binaries)roost")
        process.arguments = ["chat"] + arguments
        process.environment = ["ROOST_PASSWORD": "they like long passwords"]
        let pipe = Pipe()
        process.standardInput = input
        process.standardOutput = pipe
        pipe.fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            if data.isEmpty { handle.readabilityHandler = nil }
            self.output.withLock { $0 += String(decoding: data, as: UTF8.self) }
        }
        process.terminationHandler = { process in
            self.ended.continuation.yield(process.terminationStatus)
        }
    }

    func type(_ text: String) {
        input.fileHandleForWriting.write(Data(text.utf8))
    }

    /// The messages it has shown, without their times; what the suite says is not among them.
    var transcript: [String] {
        output.withLock { $0 }.split(separator: "\n").map { String($0.dropFirst(6)) }.filter { !$0.hasPrefix("* ") }
    }

    func waitForTranscript(_ lines: [String]) async throws {
        do {
            try await eventually(within: .seconds(60), "\(lines)") { transcript == lines }
        } catch {
            print("shown instead: \(transcript)")
            throw error
        }
    }

    /// Ctrl-D, and how it ended.
    func leave() async -> Int32? {
        // Silence: it may be closed.
        try? input.fileHandleForWriting.close()
        var statuses = ended.stream.makeAsyncIterator()
        return await statuses.next()
    }
}
