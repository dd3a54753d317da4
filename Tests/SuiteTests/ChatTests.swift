import AuthAPI
import ChildProcesses
import ConversationsAPI
import Foundation
import Glibc
import Synchronization
import Testing

/// `roost chat` with pipes for a terminal, through the gateway.
extension SuiteTests {
    @Suite("roost chat") struct ChatTests {
        @Test("Messages sent while the service restarts arrive once, in the same order for both users")
        func restart() async throws {
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
                    try await eventually(within: .seconds(90), "all messages shown") { chat.transcript.count >= 42 }
                    #expect(chat.transcript.filter { $0.hasPrefix("cleo: before") } == before)
                    #expect(chat.transcript.filter { $0.hasPrefix("dan: after") } == after)
                }
                #expect(one.transcript.count == 42)
                #expect(one.transcript == other.transcript)

                #expect(await one.leave() == 0)
                #expect(await other.leave() == 0)
                let record = try await ana.conversations.messages(made.token, query: [("count", "100")])
                #expect(record.filter { $0.senderUser != nil }.count == 42)
            }
        }
    }
}

/// A `roost chat` process with pipes for a terminal.
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

    /// The messages that were shown, without their times and without system messages.
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

    /// Ends the input, as Ctrl-D does, and returns the exit status.
    func leave() async -> Int32? {
        // Silence: the input may be closed already.
        try? input.fileHandleForWriting.close()
        var statuses = ended.stream.makeAsyncIterator()
        return await statuses.next()
    }
}
