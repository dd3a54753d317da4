import Foundation
import Logging
import Postgres
import PushAPI
import PushProviders
import ServiceHost
import ServiceLifecycle
import Wire

/// Sends what is in the queue: claims it, hands it to the push services, and writes down what they say.
///
/// Several instances share a queue. Each holds what it claimed by a lease, which it renews while it lives; what it did not
/// live to write down is claimed again after that, and so is sent at least once, and twice only where the end came between
/// a push service's answer and the note of it. No answer is waited for by what is for another device.
final class NotificationSender: Service {
    /// How long a claim holds, in seconds, unless it is renewed.
    static let lease: TimeInterval = 20
    private static let batch = 500
    private static let queues = 1_000
    private static let renewInterval: Duration = .seconds(5)

    private let database: PostgresPool
    private let providers: any ProviderDirectory
    private let retryPolicy: SendRetryPolicy
    private let settings: PipelineConfiguration
    private let setAside: SetAside
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let random: @Sendable () -> Double
    private let metrics: SenderMetrics
    let inFlight = InFlight()
    /// Rung where there may be something to claim.
    let wakeSignal = WakeSignal()
    private let resultSignal = WakeSignal()
    private let scan = QueueScan()
    private let claims: ClaimStore

    init(
        database: PostgresPool,
        providers: any ProviderDirectory,
        texts: PushTexts,
        settings: PipelineConfiguration,
        setAside: SetAside,
        logger: Logger,
        now: @escaping @Sendable () -> Date,
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        self.database = database
        self.providers = providers
        retryPolicy = SendRetryPolicy(maximumAttempts: settings.maximumAttempts)
        self.settings = settings
        self.setAside = setAside
        self.logger = logger
        self.now = now
        self.random = random
        metrics = SenderMetrics()
        claims = ClaimStore(database: database, texts: texts)
    }

    /// Until it is told to stop; then what is under way is still answered and written down.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.writeResultsUntilShutdown() }
            group.addTask { await self.renewLeasesUntilShutdown() }
            await wakeSignal.runUntilShutdown(logger, "nothing can be claimed") { try await self.claim() }
            resultSignal.wake()
            await group.waitForAll()
        }
    }

    /// Claims what is due and has it sent; returns how many there were.
    ///
    /// A row that cannot be read delays no other.
    func claim() async throws -> Int {
        let now = now()
        let quotas = try await quotas(at: now)
        guard !quotas.isEmpty else { return 0 }
        let (claimed, unreadable) = try await claims.claim(
            quotas,
            at: now,
            until: now.addingTimeInterval(Self.lease),
            cooldown: settings.cooldown
        )
        var attempted: Set<ProviderQueue> = []
        for one in claimed where inFlight.begin(one, at: now) && begin(one, at: now) { attempted.insert(one.queue) }
        // What ends without being sent says nothing of the push service: the next may be tried with at once.
        for quota in quotas where quota.isProbe && !attempted.contains(quota.queue) {
            try await CircuitStore(db: database).cancelProbe(quota.queue)
        }
        try await setAside.failed(unreadable, of: .queued)
        return claimed.count + unreadable.count
    }

    /// How many more each lane takes: none while its circuit is open, but one to try with when its time has come.
    ///
    /// Where few would be, they are waited for, so that claims are not for one row each.
    private func quotas(at now: Date) async throws -> [ClaimQuota] {
        let queues = try await claims.queues(before: scan.last, limit: Self.queues)
        scan.last = queues.count == Self.queues ? queues.last?.queue : nil
        var left = settings.maximumInFlight - inFlight.count
        var quotas: [ClaimQuota] = []
        for (queue, circuit) in queues where left > 0 {
            if let circuit, circuit.isOpen {
                guard circuit.canProbe(at: now) else { continue }
                let end = now.addingTimeInterval(Circuit.probe)
                guard try await CircuitStore(db: database).probe(queue, at: now, until: end) else { continue }
                quotas.append(ClaimQuota(queue: queue, quota: 1, isProbe: true))
                left -= 1
                continue
            }
            let limit =
                circuit?.quota(of: settings.maximumInFlightPerProvider, at: now) ?? settings.maximumInFlightPerProvider
            let quota = min(limit - inFlight.count(in: queue), left, Self.batch)
            guard quota > 0, quota >= limit / 4 || quota == left else { continue }
            quotas.append(ClaimQuota(queue: queue, quota: quota, isProbe: false))
            left -= quota
        }
        return quotas
    }

    /// False: it ends without being sent.
    private func begin(_ claimed: ClaimedEntry, at now: Date) -> Bool {
        if let decision = retryPolicy.decision(before: claimed, now: now) {
            record(SendResult(claimed: claimed, decision: decision))
            return false
        }
        if claimed.isResend { metrics.recordResend() }
        // Detached: it outlives the claim, and a shutdown waits for it.
        Task.detached { await self.send(claimed) }
        return true
    }

    private func send(_ claimed: ClaimedEntry) async {
        guard let device = claimed.device else { return }
        let sentAt = now()
        let began = ContinuousClock.now
        let reply = await reply(to: claimed, device)
        metrics.record(claimed.queue.kind, reply.outcome, after: .now - began)
        let decision = retryPolicy.decision(on: reply, to: claimed, sentAt: sentAt, now: now(), jitter: random())
        record(SendResult(claimed: claimed, decision: decision))
    }

    private func reply(to claimed: ClaimedEntry, _ device: ClaimedEntry.Device) async -> PushReply {
        do {
            let queue = claimed.queue
            guard let provider = try await providers.provider(queue.kind, of: queue.application) else {
                return PushReply(.misconfigured, reason: "no_credentials")
            }
            return await provider.send(claimed.message, to: device.target)
        } catch {
            logger.warning("a push service's credentials are not known", metadata: ["error": "\(error)"])
            return PushReply(.providerBusy, reason: "credentials_unavailable")
        }
    }

    private func record(_ result: SendResult) {
        inFlight.complete(result)
        resultSignal.wake()
    }

    /// Writes down what was answered, as it comes; under load much at a time.
    private func writeResultsUntilShutdown() async {
        while true {
            do {
                if try await writeResults() > 0 { continue }
            } catch {
                logger.warning("what was sent is not written down", metadata: ["error": "\(error)"])
                try? await Task.sleep(for: .milliseconds(500))
            }
            if Task.isCancelled || (Task.isShuttingDownGracefully && inFlight.count == 0) { return }
            await resultSignal.wait(atMost: .milliseconds(500))
        }
    }

    /// Writes down what was answered so far; returns how many there were.
    func writeResults() async throws -> Int {
        let batch = inFlight.takeCompleted(1_000)
        guard !batch.isEmpty else { return 0 }
        do {
            try await write(batch)
        } catch {
            guard FailedRow([], error) != nil else {
                inFlight.restore(batch)
                throw error
            }
            logger.notice("results are written one by one", metadata: ["error": "\(error)"])
            try await writeOneByOne(batch)
        }
        inFlight.finish(batch)
        wakeSignal.wake()
        return batch.count
    }

    private func write(_ batch: [SendResult]) async throws {
        let opened = try await ResultWriter(database: database, random: random).write(batch, at: now())
        for queue in opened {
            logger.error(
                "nothing is sent to a push service for a while",
                metadata: [
                    "provider": "\(queue.queue.kind.rawValue)", "application": "\(queue.queue.application)",
                    "reason": "\(queue.circuit.reason ?? "")",
                ]
            )
        }
    }

    /// Writes each result by itself; the row of a result that the database refuses is retried later, and set aside.
    private func writeOneByOne(_ batch: [SendResult]) async throws {
        for (index, result) in batch.enumerated() {
            do {
                do {
                    try await write([result])
                } catch {
                    let entry = result.claimed.entry
                    let key = [entry.user.application, entry.user.user, "\(entry.id)"]
                    guard let failed = FailedRow(key, error) else { throw error }
                    // Each retry sends the notification again, so there are as few as for a row that breaks a rule.
                    try await setAside.failed([FailedRow(key, .unreadable, detail: failed.detail)], of: .queued)
                }
            } catch {
                inFlight.finish(Array(batch.prefix(index)))
                inFlight.restore(Array(batch.dropFirst(index)))
                throw error
            }
        }
    }

    private func renewLeasesUntilShutdown() async {
        while !(Task.isShuttingDownGracefully && inFlight.count == 0), !Task.isCancelled {
            do {
                try await renewLeases()
            } catch {
                logger.warning("claims are not renewed", metadata: ["error": "\(error)"])
            }
            let pause = Task.isShuttingDownGracefully ? Duration.milliseconds(200) : Self.renewInterval
            await cancelWhenGracefulShutdown { try? await Task.sleep(for: pause) }
        }
    }

    /// Keeps what is under way for longer.
    func renewLeases() async throws {
        let now = now()
        let entries = inFlight.leasesToRenew(leasedBefore: now.addingTimeInterval(-Self.lease / 4), at: now)
        try await QueueStore(db: database).renewLeases(entries, until: now.addingTimeInterval(Self.lease))
    }
}
