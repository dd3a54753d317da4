import ChildProcesses
import Foundation
import ImageWork
import Locks
import Synchronization

/// One process that decodes, and the talk with it: one order, one answer.
final class WorkerProcess: Sendable {
    enum Outcome: Sendable {
        case answer(RenderingAnswer)
        /// It did not answer in time, and was killed.
        case late
        /// It ended, or said what no worker says and was killed, before it had answered.
        case ended(ExitStatus)
    }

    /// How long one may take until it is ready; it loads some forty libraries.
    private static let patience = Duration.seconds(20)
    /// How long one may take to end by itself.
    private static let farewell = Duration.seconds(5)

    private let child: ChildProcess
    private let talk: Talk
    private let orders = Atomic(0)
    /// What the kernel did not confine it by.
    let missingConfinement: [String]

    private init(child: ChildProcess, talk: Talk, missingConfinement: [String]) {
        self.child = child
        self.talk = talk
        self.missingConfinement = missingConfinement
    }

    static func start(_ configuration: ImageWorkshopConfiguration) async throws(ImageError) -> WorkerProcess {
        // What this process has in its environment, passwords among it, is nothing that a decoder needs.
        // A crash is expected of hostile files, and a backtrace of it would only delay the answer.
        var environment = ["MALLOC_ARENA_MAX": "1", "SWIFT_BACKTRACE": "enable=no", "VIPS_BLOCK_UNTRUSTED": "1"]
        environment["LD_LIBRARY_PATH"] = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"]
        var command = ProcessCommand(configuration.worker, ["\(configuration.memory)"], environment: environment)
        let talk = Talk()
        command.input = .fed
        command.output = .chunks { talk.hear($0) }
        let child: ChildProcess
        do {
            child = try await ChildProcess.start(command)
        } catch {
            throw .failed(reason: "image-worker cannot be started: \(error)")
        }
        guard case .answer(.ready(let missing)) = await nextAnswer(of: child, talk, within: patience) else {
            child.signal(SIGKILL)
            throw .failed(reason: "image-worker is not ready: \(await child.exit()) \(talk.noise)")
        }
        return WorkerProcess(child: child, talk: talk, missingConfinement: missing)
    }

    /// Whether it has not been given an order yet.
    var isFresh: Bool { orders.load(ordering: .relaxed) == 0 }

    var hasEnded: Bool { child.status != nil }

    /// The memory it takes, libraries that it shares with others included, or has set aside, in bytes; 0 once it has ended.
    var heldMemory: Int {
        // Silence: it may end at any moment. `proc(5)`: in pages, of which the second are resident and the sixth data.
        let statm = (try? String(contentsOfFile: "/proc/\(child.pid)/statm", encoding: .utf8)) ?? ""
        let pages = statm.split(whereSeparator: \.isWhitespace).map { Int($0) ?? 0 }
        guard pages.count > 5 else { return 0 }
        return max(pages[1], pages[5]) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    func carryOut(_ order: RenderingOrder, on files: ImageFiles, within limit: Duration) async -> Outcome {
        orders.add(1, ordering: .relaxed)
        // One that takes no order does not answer either, since it has ended.
        guard child.send(Frames.frame(order.encoded), descriptors: files.descriptors) else {
            child.signal(SIGKILL)
            return .ended(await child.exit())
        }
        return await Self.nextAnswer(of: child, talk, within: limit)
    }

    /// Lets it end, as it does when it reads the end of its input, or kills it; one that stays is killed, too.
    func end(now: Bool) async {
        if !now {
            child.closeInput()
            if await child.exit(within: Self.farewell) != nil { return }
        }
        child.signal(SIGKILL)
        _ = await child.exit()
    }

    private static func nextAnswer(of child: ChildProcess, _ talk: Talk, within limit: Duration) async -> Outcome {
        // A task of its own: the deadline holds as well for who has been cancelled meanwhile.
        let alarm = Task {
            // Silence: cancelled means that it has answered.
            guard (try? await Task.sleep(for: limit)) != nil else { return }
            talk.isLate = true
            child.signal(SIGKILL)
        }
        defer { alarm.cancel() }
        if let answer = await talk.next() { return .answer(answer) }
        child.signal(SIGKILL)
        let status = await child.exit()
        return talk.isLate ? .late : .ended(status)
    }
}

extension ExitStatus {
    /// Whether a limit has ended it, rather than a fault: of processor time, of what it may write, or of memory, without
    /// which GLib ends a process by a trap.
    var isLimit: Bool { self == .signal(SIGXCPU) || self == .signal(SIGXFSZ) || self == .signal(SIGTRAP) }
}

/// What a worker says, put together to answers.
private final class Talk: Sendable {
    private struct State {
        var frames = Frames()
        var answers: [RenderingAnswer] = []
        var listener: CheckedContinuation<RenderingAnswer?, Never>?
        var isOver = false
        var isLate = false
        var noise = ""
    }

    private let state = Lock(State())

    /// What it said that was no answer, for a log: the system's words on why it does not start.
    var noise: String { state.withLock { $0.noise } }

    /// Whether it was given up on.
    var isLate: Bool {
        get { state.withLock { $0.isLate } }
        set { state.withLock { $0.isLate = newValue } }
    }

    /// The next answer, or nil once there will be none.
    func next() async -> RenderingAnswer? {
        await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> RenderingAnswer?? in
                if !state.answers.isEmpty { return .some(state.answers.removeFirst()) }
                if state.isOver { return .some(nil) }
                state.listener = continuation
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    /// Takes a piece of what was said; an empty one is the end.
    func hear(_ piece: [UInt8]) {
        let (listener, answer) = state.withLock { state in
            if piece.isEmpty {
                state.isOver = true
            } else if !state.isOver {
                take(piece, &state)
            }
            guard !state.answers.isEmpty || state.isOver, let listener = state.listener else {
                return (CheckedContinuation<RenderingAnswer?, Never>?.none, RenderingAnswer?.none)
            }
            state.listener = nil
            return (listener, state.answers.isEmpty ? nil : state.answers.removeFirst())
        }
        listener?.resume(returning: answer)
    }

    private func take(_ piece: [UInt8], _ state: inout State) {
        state.frames.append(piece)
        do {
            while let frame = try state.frames.next() {
                // One answer to one order: whoever says more is not listened to any longer.
                guard let answer = RenderingAnswer(encoded: frame), state.answers.isEmpty else {
                    throw Frames.Nonsense()
                }
                state.answers.append(answer)
            }
        } catch {
            state.noise = String(decoding: piece.prefix(300), as: UTF8.self)
            state.isOver = true
        }
    }
}
