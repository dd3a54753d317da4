/// The workers of a workshop, and what they may have.
actor WorkerPool {
    private let configuration: ImageProcessorConfiguration
    /// How many may be at work.
    let concurrency: ConcurrencyLimit
    /// What those at work may have together.
    let memory: ConcurrencyLimit
    private var idle: [(worker: WorkerProcess, since: ContinuousClock.Instant)] = []
    private var busyWorkers: [ObjectIdentifier: WorkerProcess] = [:]
    private var expiryTask: Task<Void, Never>?
    private var isClosed = false
    private var hasReported = false

    init(_ configuration: ImageProcessorConfiguration) {
        self.configuration = configuration
        concurrency = ConcurrencyLimit(of: configuration.workers, queueLimit: configuration.waiting)
        memory = ConcurrencyLimit(of: configuration.memory, queueLimit: configuration.workers)
    }

    /// The worker used last, whose memory is warm, or a new one.
    func worker() async throws(ImageError) -> WorkerProcess {
        while let (worker, _) = idle.popLast() {
            if !worker.hasEnded { return markBusy(worker) }
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
        return markBusy(worker)
    }

    func release(_ worker: WorkerProcess) async {
        busyWorkers[ObjectIdentifier(worker)] = nil
        guard !isClosed, worker.heldMemory <= configuration.keptMemory else {
            return await worker.end(now: false)
        }
        idle.append((worker, .now))
        if expiryTask == nil { expiryTask = Task { await endIdleWorkers() } }
    }

    func close() async {
        isClosed = true
        expiryTask?.cancel()
        await concurrency.close()
        await memory.close()
        let (idleWorkers, busy) = (idle.map(\.worker), Array(busyWorkers.values))
        (idle, busyWorkers) = ([], [:])
        for worker in idleWorkers {
            await worker.end(now: false)
        }
        for worker in busy {
            await worker.end(now: true)
        }
    }

    private func markBusy(_ worker: WorkerProcess) -> WorkerProcess {
        // One that ended at work is not given back: it makes room here.
        busyWorkers = busyWorkers.filter { !$0.value.hasEnded }
        busyWorkers[ObjectIdentifier(worker)] = worker
        return worker
    }

    /// Ends, now and then, those that had nothing to do for long.
    private func endIdleWorkers() async {
        // Silence: cancelled means closed, which ends all of them.
        while (try? await Task.sleep(for: configuration.idleTime)) != nil {
            let latest = ContinuousClock.now - configuration.idleTime
            let expired = idle.filter { $0.since <= latest }
            idle.removeAll { $0.since <= latest }
            let isDone = idle.isEmpty
            if isDone { expiryTask = nil }
            for (worker, _) in expired {
                await worker.end(now: false)
            }
            if isDone { return }
        }
    }
}
