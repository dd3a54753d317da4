import ChildProcesses
import Foundation
import ImageWork
import Locks
import Synchronization

/// One process that decodes, and the talk with it: one order, one answer.
final class WorkerProcess: Sendable {
    enum Outcome: Sendable {
        case response(RenderResponse)
        /// It did not answer in time, and was killed.
        case timedOut
        /// It ended, or said what no worker says and was killed, before it had answered.
        case ended(ExitStatus)
    }

    /// How long one may take until it is ready; it loads some forty libraries.
    private static let startTimeout = Duration.seconds(20)
    /// How long one may take to end by itself.
    private static let exitTimeout = Duration.seconds(5)

    private let child: ChildProcess
    private let reader: ResponseReader
    private let requestCount = Atomic(0)
    /// What the kernel did not confine it by.
    let missingConfinement: [String]

    private init(child: ChildProcess, reader: ResponseReader, missingConfinement: [String]) {
        self.child = child
        self.reader = reader
        self.missingConfinement = missingConfinement
    }

    static func start(_ configuration: ImageProcessorConfiguration) async throws(ImageError) -> WorkerProcess {
        // What this process has in its environment, passwords among it, is nothing that a decoder needs.
        // A crash is expected of hostile files, and a backtrace of it would only delay the answer.
        var environment = ["MALLOC_ARENA_MAX": "1", "SWIFT_BACKTRACE": "enable=no", "VIPS_BLOCK_UNTRUSTED": "1"]
        environment["LD_LIBRARY_PATH"] = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"]
        var command = ProcessCommand(configuration.worker, ["\(configuration.memory)"], environment: environment)
        let reader = ResponseReader()
        command.input = .fed
        command.output = .chunks { reader.receive($0) }
        let child: ChildProcess
        do {
            child = try await ChildProcess.start(command)
        } catch {
            throw .failed(reason: "image-worker cannot be started: \(error)")
        }
        guard case .response(.ready(let missing)) = await nextResponse(of: child, reader, within: startTimeout) else {
            child.signal(SIGKILL)
            throw .failed(reason: "image-worker is not ready: \(await child.exit()) \(reader.unexpectedOutput)")
        }
        return WorkerProcess(child: child, reader: reader, missingConfinement: missing)
    }

    /// Whether it has not been given an order yet.
    var isFresh: Bool { requestCount.load(ordering: .relaxed) == 0 }

    var hasEnded: Bool { child.status != nil }

    /// The memory it takes, libraries that it shares with others included, or has set aside, in bytes; 0 once it has ended.
    var heldMemory: Int {
        // Silence: it may end at any moment. `proc(5)`: in pages, of which the second are resident and the sixth data.
        let statm = (try? String(contentsOfFile: "/proc/\(child.pid)/statm", encoding: .utf8)) ?? ""
        let pages = statm.split(whereSeparator: \.isWhitespace).map { Int($0) ?? 0 }
        guard pages.count > 5 else { return 0 }
        return max(pages[1], pages[5]) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    func execute(_ request: RenderRequest, on files: ImageFiles, within limit: Duration) async -> Outcome {
        requestCount.add(1, ordering: .relaxed)
        // One that takes no order does not answer either, since it has ended.
        guard child.send(Frames.frame(request.encoded), descriptors: files.descriptors) else {
            child.signal(SIGKILL)
            return .ended(await child.exit())
        }
        return await Self.nextResponse(of: child, reader, within: limit)
    }

    /// Lets it end, as it does when it reads the end of its input, or kills it; one that stays is killed, too.
    func end(now: Bool) async {
        if !now {
            child.closeInput()
            if await child.exit(within: Self.exitTimeout) != nil { return }
        }
        child.signal(SIGKILL)
        _ = await child.exit()
    }

    private static func nextResponse(
        of child: ChildProcess,
        _ reader: ResponseReader,
        within limit: Duration
    ) async -> Outcome {
        // A task of its own: the deadline holds as well for who has been cancelled meanwhile.
        let timeout = Task {
            // Silence: cancelled means that it has answered.
            guard (try? await Task.sleep(for: limit)) != nil else { return }
            reader.isTimedOut = true
            child.signal(SIGKILL)
        }
        defer { timeout.cancel() }
        if let response = await reader.next() { return .response(response) }
        child.signal(SIGKILL)
        let status = await child.exit()
        return reader.isTimedOut ? .timedOut : .ended(status)
    }
}

extension ExitStatus {
    /// Whether a limit has ended it, rather than a fault: of processor time, of what it may write, or of memory, without
    /// which GLib ends a process by a trap.
    var isLimit: Bool { self == .signal(SIGXCPU) || self == .signal(SIGXFSZ) || self == .signal(SIGTRAP) }
}

/// What a worker says, put together to answers.
private final class ResponseReader: Sendable {
    private struct State {
        var frames = Frames()
        var responses: [RenderResponse] = []
        var waiter: CheckedContinuation<RenderResponse?, Never>?
        var isFinished = false
        var isTimedOut = false
        var unexpectedOutput = ""
    }

    private let state = Lock(State())

    /// What it said that was no answer, for a log: the system's words on why it does not start.
    var unexpectedOutput: String { state.withLock { $0.unexpectedOutput } }

    /// Whether it was given up on.
    var isTimedOut: Bool {
        get { state.withLock { $0.isTimedOut } }
        set { state.withLock { $0.isTimedOut = newValue } }
    }

    /// The next answer, or nil once there will be none.
    func next() async -> RenderResponse? {
        await withCheckedContinuation { continuation in
            let response = state.withLock { state -> RenderResponse?? in
                if !state.responses.isEmpty { return .some(state.responses.removeFirst()) }
                if state.isFinished { return .some(nil) }
                state.waiter = continuation
                return nil
            }
            if let response { continuation.resume(returning: response) }
        }
    }

    /// Takes a piece of what was said; an empty one is the end.
    func receive(_ piece: [UInt8]) {
        let (waiter, response) = state.withLock { state in
            if piece.isEmpty {
                state.isFinished = true
            } else if !state.isFinished {
                take(piece, &state)
            }
            guard !state.responses.isEmpty || state.isFinished, let waiter = state.waiter else {
                return (CheckedContinuation<RenderResponse?, Never>?.none, RenderResponse?.none)
            }
            state.waiter = nil
            return (waiter, state.responses.isEmpty ? nil : state.responses.removeFirst())
        }
        waiter?.resume(returning: response)
    }

    private func take(_ piece: [UInt8], _ state: inout State) {
        state.frames.append(piece)
        do {
            while let frame = try state.frames.next() {
                // One answer to one order: whoever says more is not listened to any longer.
                guard let response = RenderResponse(encoded: frame), state.responses.isEmpty else {
                    throw Frames.MalformedFrame()
                }
                state.responses.append(response)
            }
        } catch {
            state.unexpectedOutput = String(decoding: piece.prefix(300), as: UTF8.self)
            state.isFinished = true
        }
    }
}
