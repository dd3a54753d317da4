/// The workers of a workshop, and what they may have.
actor Crew {
    private let configuration: ImageWorkshopConfiguration
    /// How many may be at work.
    let turns: Allowance
    /// What those at work may have together.
    let memory: Allowance
    private var idle: [(worker: WorkerProcess, since: ContinuousClock.Instant)] = []
    private var working: [ObjectIdentifier: WorkerProcess] = [:]
    private var sweep: Task<Void, Never>?
    private var isClosed = false
    private var hasReported = false

    init(_ configuration: ImageWorkshopConfiguration) {
        self.configuration = configuration
        turns = Allowance(of: configuration.workers, places: configuration.waiting)
        memory = Allowance(of: configuration.memory, places: configuration.workers)
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
        if !worker.missingConfinement.isEmpty, !hasReported {
            hasReported = true
            configuration.reportMissingConfinement(worker.missingConfinement)
        }
        return begin(worker)
    }

    func giveBack(_ worker: WorkerProcess) async {
        working[ObjectIdentifier(worker)] = nil
        guard !isClosed, worker.heldMemory <= configuration.keptMemory else {
            return await worker.end(now: false)
        }
        idle.append((worker, .now))
        if sweep == nil { sweep = Task { await sweepIdle() } }
    }

    func close() async {
        isClosed = true
        sweep?.cancel()
        await turns.close()
        await memory.close()
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
