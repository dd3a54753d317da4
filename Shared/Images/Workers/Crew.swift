import DequeModule

/// The workers of a workshop, and the line of those who wait for one.
actor Crew {
    private let configuration: ImageWorkshopConfiguration
    private var turns = 0
    private var line: Deque<(ticket: Int, continuation: CheckedContinuation<Bool, Never>)> = []
    private var lastTicket = 0
    private var idle: [(worker: WorkerProcess, since: ContinuousClock.Instant)] = []
    private var working: [ObjectIdentifier: WorkerProcess] = [:]
    private var sweep: Task<Void, Never>?
    private var isClosed = false

    init(_ configuration: ImageWorkshopConfiguration) { self.configuration = configuration }

    /// Waits for a turn; each ends with `leave()`.
    func enter() async throws(ImageError) {
        guard !isClosed, !Task.isCancelled else { throw .cancelled }
        if turns < configuration.workers {
            turns += 1
            return
        }
        guard line.count < configuration.waiting else { throw .busy }
        lastTicket += 1
        let ticket = lastTicket
        let isGranted = await withTaskCancellationHandler {
            await withCheckedContinuation { line.append((ticket, $0)) }
        } onCancel: {
            Task { await self.stepOut(ticket) }
        }
        guard isGranted else { throw .cancelled }
    }

    /// Gives the turn to who has waited longest.
    func leave() {
        if let next = line.popFirst() {
            next.continuation.resume(returning: true)
        } else {
            turns -= 1
        }
    }

    /// The worker used last, whose memory is warm, or a new one.
    func worker() async throws(ImageError) -> WorkerProcess {
        while let (worker, _) = idle.popLast() {
            if !worker.hasEnded { return begin(worker) }
        }
        guard !isClosed else { throw .cancelled }
        let worker = try await WorkerProcess.start(configuration)
        guard !isClosed else {
            await worker.end(now: true)
            throw .cancelled
        }
        return begin(worker)
    }

    func giveBack(_ worker: WorkerProcess) async {
        working[ObjectIdentifier(worker)] = nil
        guard !isClosed, worker.residentMemory <= configuration.keptMemory else {
            return await worker.end(now: false)
        }
        idle.append((worker, .now))
        if sweep == nil { sweep = Task { await sweepIdle() } }
    }

    func close() async {
        isClosed = true
        sweep?.cancel()
        for waiting in line {
            waiting.continuation.resume(returning: false)
        }
        line = []
        let (resting, busy) = (idle.map(\.worker), Array(working.values))
        (idle, working) = ([], [:])
        for worker in resting {
            await worker.end(now: false)
        }
        for worker in busy {
            await worker.end(now: true)
        }
    }

    private func begin(_ worker: WorkerProcess) -> WorkerProcess {
        // One that ended at work is not given back: it makes room here.
        working = working.filter { !$0.value.hasEnded }
        working[ObjectIdentifier(worker)] = worker
        return worker
    }

    private func stepOut(_ ticket: Int) {
        guard let index = line.firstIndex(where: { $0.ticket == ticket }) else { return }
        line.remove(at: index).continuation.resume(returning: false)
    }

    /// Ends, now and then, those that had nothing to do for long.
    private func sweepIdle() async {
        // Silence: cancelled means closed, which ends all of them.
        while (try? await Task.sleep(for: configuration.idleTime)) != nil {
            let latest = ContinuousClock.now - configuration.idleTime
            let expired = idle.filter { $0.since <= latest }
            idle.removeAll { $0.since <= latest }
            let isDone = idle.isEmpty
            if isDone { sweep = nil }
            for (worker, _) in expired {
                await worker.end(now: false)
            }
            if isDone { return }
        }
    }
}
