import Foundation
import Logging
import Postgres
import PushAPI
import PushProviders
import ServiceHost
import ServiceLifecycle
import Wire

/// Claims notifications from the queue, sends them to the providers, and stores the results.
///
/// Several instances share the queue. Each holds its claims by a lease, which it renews while it runs. After a crash,
/// another instance claims the rows again. Each notification is therefore sent at least once; it is sent twice only if
/// the instance crashes between the provider's reply and storing the result. A slow device does not delay other
/// devices.
final class NotificationSender: Service {
    /// The seconds until a claim ends unless it is renewed.
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

    /// Runs until shutdown, then waits for pending replies and stores their results.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.writeResultsUntilShutdown() }
            group.addTask { await self.renewLeasesUntilShutdown() }
            await wakeSignal.runUntilShutdown(logger, "claiming notifications failed") { try await self.claim() }
            resultSignal.wake()
            await group.waitForAll()
        }
    }

    /// Claims due notifications and starts sending them; returns the number of claimed rows.
    ///
    /// An unreadable row does not delay the others.
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
        for entry in claimed where inFlight.begin(entry, at: now) && begin(entry, at: now) {
            attempted.insert(entry.queue)
        }
        // A notification that ends without being sent says nothing about the provider, so the next probe may start
        // immediately.
        for quota in quotas where quota.isProbe && !attempted.contains(quota.queue) {
            try await CircuitStore(db: database).cancelProbe(quota.queue)
        }
        try await setAside.failed(unreadable, of: .queued)
        return claimed.count + unreadable.count
    }

    /// Returns how many notifications each queue may claim: none while its circuit is open, one for a probe.
    ///
    /// A queue with little free capacity is skipped, so that a claim is worth its statement.
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

    /// Starts sending; returns false if the notification ends without being sent.
    private func begin(_ claimed: ClaimedEntry, at now: Date) -> Bool {
        if let decision = retryPolicy.decision(before: claimed, now: now) {
            record(SendResult(claimed: claimed, decision: decision))
            return false
        }
        if claimed.isResend { metrics.recordResend() }
        // Detached, because it outlives the claim; a shutdown waits for it.
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
            logger.warning("push credentials are unavailable", metadata: ["error": "\(error)"])
            return PushReply(.providerBusy, reason: "credentials_unavailable")
        }
    }

    private func record(_ result: SendResult) {
        inFlight.complete(result)
        resultSignal.wake()
    }

    private func writeResultsUntilShutdown() async {
        while true {
            do {
                if try await writeResults() > 0 { continue }
            } catch {
                logger.warning("storing send results failed", metadata: ["error": "\(error)"])
                try? await Task.sleep(for: .milliseconds(500))
            }
            if Task.isCancelled || (Task.isShuttingDownGracefully && inFlight.count == 0) { return }
            await resultSignal.wait(atMost: .milliseconds(500))
        }
    }

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
            logger.notice("storing send results failed, storing them singly", metadata: ["error": "\(error)"])
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
                "circuit of a push provider opened",
                metadata: [
                    "provider": "\(queue.queue.kind.rawValue)", "application": "\(queue.queue.application)",
                    "reason": "\(queue.circuit.reason ?? "")",
                ]
            )
        }
    }

    /// Stores each result separately.
    ///
    /// A result that the database rejects is set aside, and its row is retried later.
    private func writeOneByOne(_ batch: [SendResult]) async throws {
        for (index, result) in batch.enumerated() {
            do {
                do {
                    try await write([result])
                } catch {
                    let entry = result.claimed.entry
                    let key = [entry.user.application, entry.user.user, "\(entry.id)"]
                    guard let failed = FailedRow(key, error) else { throw error }
                    // Each retry sends the notification again, so it gets as few retries as an unreadable row.
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
                logger.warning("renewing leases failed", metadata: ["error": "\(error)"])
            }
            let pause = Task.isShuttingDownGracefully ? Duration.milliseconds(200) : Self.renewInterval
            await cancelWhenGracefulShutdown { try? await Task.sleep(for: pause) }
        }
    }

    func renewLeases() async throws {
        let now = now()
        let entries = inFlight.leasesToRenew(leasedBefore: now.addingTimeInterval(-Self.lease / 4), at: now)
        try await QueueStore(db: database).renewLeases(entries, until: now.addingTimeInterval(Self.lease))
    }
}
