actor WorkerPool {
    private let configuration: ImageProcessorConfiguration
    let concurrency: ConcurrencyLimit
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

    /// Returns the most recently used worker, whose memory is warm, or starts one.
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
        // A worker that ended while busy is not released; it is removed here.
        busyWorkers = busyWorkers.filter { !$0.value.hasEnded }
        busyWorkers[ObjectIdentifier(worker)] = worker
        return worker
    }

    /// Ends workers that were idle for `idleTime`, until no idle worker is left.
    private func endIdleWorkers() async {
        // An error means cancellation by `close()`, which ends all workers.
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
