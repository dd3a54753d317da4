import ChildProcesses
import Foundation
import ImageWork
import Locks
import Synchronization

final class WorkerProcess: Sendable {
    enum Outcome: Sendable {
        case response(RenderResponse)
        case timedOut
        /// The worker ended before it responded, or sent invalid data and was killed.
        case ended(ExitStatus)
    }

    /// How long a worker may take to start; it loads about forty libraries.
    private static let startTimeout = Duration.seconds(20)
    /// How long a worker may take to exit after its input is closed.
    private static let exitTimeout = Duration.seconds(5)

    private let child: ChildProcess
    private let reader: ResponseReader
    private let requestCount = Atomic(0)
    let missingConfinement: [String]

    private init(child: ChildProcess, reader: ResponseReader, missingConfinement: [String]) {
        self.child = child
        self.reader = reader
        self.missingConfinement = missingConfinement
    }

    static func start(_ configuration: ImageProcessorConfiguration) async throws(ImageError) -> WorkerProcess {
        // The environment of this process may contain passwords and is not passed on. Hostile files are expected to
        // crash the worker, and a backtrace would only delay the response.
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

    var isFresh: Bool { requestCount.load(ordering: .relaxed) == 0 }

    var hasEnded: Bool { child.status != nil }

    /// The memory of the worker in bytes, resident (including shared libraries) or reserved, whichever is larger; 0
    /// after it ended.
    var heldMemory: Int {
        // The process may end at any time, so errors are ignored. `proc(5)`: values are pages; the second is resident,
        // the sixth data.
        let statm = (try? String(contentsOfFile: "/proc/\(child.pid)/statm", encoding: .utf8)) ?? ""
        let pages = statm.split(whereSeparator: \.isWhitespace).map { Int($0) ?? 0 }
        guard pages.count > 5 else { return 0 }
        return max(pages[1], pages[5]) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    func execute(_ request: RenderRequest, on files: ImageFiles, within limit: Duration) async -> Outcome {
        requestCount.add(1, ordering: .relaxed)
        // The write fails only if the worker has ended, so no response follows.
        guard child.send(Frames.frame(request.encoded), descriptors: files.descriptors) else {
            child.signal(SIGKILL)
            return .ended(await child.exit())
        }
        return await Self.nextResponse(of: child, reader, within: limit)
    }

    /// Closes the worker's input, which makes it exit, or kills it; a worker that does not exit is killed too.
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
        // A separate task: the deadline also applies if the calling task is cancelled.
        let timeout = Task {
            // An error means cancellation, because the response arrived.
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
    /// Whether a limit ended the process: processor time, file size, or memory, where GLib exits with a trap.
    var isLimit: Bool { self == .signal(SIGXCPU) || self == .signal(SIGXFSZ) || self == .signal(SIGTRAP) }
}

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

    /// The invalid output, for the log: for example the loader's reason why the worker does not start.
    var unexpectedOutput: String { state.withLock { $0.unexpectedOutput } }

    var isTimedOut: Bool {
        get { state.withLock { $0.isTimedOut } }
        set { state.withLock { $0.isTimedOut = newValue } }
    }

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

    /// Processes output; an empty chunk is the end.
    func receive(_ piece: [UInt8]) {
        let (waiter, response) = state.withLock { state in
            if piece.isEmpty {
                state.isFinished = true
            } else if !state.isFinished {
                append(piece, to: &state)
            }
            guard !state.responses.isEmpty || state.isFinished, let waiter = state.waiter else {
                return (CheckedContinuation<RenderResponse?, Never>?.none, RenderResponse?.none)
            }
            state.waiter = nil
            return (waiter, state.responses.isEmpty ? nil : state.responses.removeFirst())
        }
        waiter?.resume(returning: response)
    }

    private func append(_ piece: [UInt8], to state: inout State) {
        state.frames.append(piece)
        do {
            while let frame = try state.frames.next() {
                // A worker sends one response per request; further output is ignored.
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
