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
final class Sending: Service {
    /// How long a claim holds, in seconds, unless it is renewed.
    static let lease: TimeInterval = 20
    private static let batch = 500
    private static let lanes = 1_000
    private static let renewInterval: Duration = .seconds(5)

    private let database: PostgresPool
    private let providers: any ProviderDirectory
    private let verdicts: Verdicts
    private let settings: PipelineConfiguration
    private let setAside: SetAside
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let random: @Sendable () -> Double
    private let meters: SendingMeters
    let underWay = UnderWay()
    /// Rung where there may be something to claim.
    let bell = Bell()
    private let answers = Bell()
    private let walk = LaneWalk()
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
        verdicts = Verdicts(maximumAttempts: settings.maximumAttempts)
        self.settings = settings
        self.setAside = setAside
        self.logger = logger
        self.now = now
        self.random = random
        meters = SendingMeters()
        claims = ClaimStore(database: database, texts: texts)
    }

    /// Until it is told to stop; then what is under way is still answered and written down.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.settleAll() }
            group.addTask { await self.renewAll() }
            await bell.rounds(logger, "nothing can be claimed") { try await self.claim() }
            answers.ring()
            await group.waitForAll()
        }
    }

    /// Claims what is due and has it sent; returns how many there were.
    ///
    /// A row that cannot be read delays no other.
    func claim() async throws -> Int {
        let now = now()
        let rooms = try await rooms(at: now)
        guard !rooms.isEmpty else { return 0 }
        let (claimed, unreadable) = try await claims.claim(
            rooms,
            at: now,
            until: now.addingTimeInterval(Self.lease),
            cooldown: settings.cooldown
        )
        var asked: Set<Lane> = []
        for one in claimed where underWay.begin(one, at: now) && begin(one, at: now) { asked.insert(one.lane) }
        // What ends without being sent says nothing of the push service: the next may be tried with at once.
        for room in rooms where room.isTrial && !asked.contains(room.lane) {
            try await CircuitStore(db: database).unprobe(room.lane)
        }
        try await setAside.failed(unreadable, of: .queued)
        return claimed.count + unreadable.count
    }

    /// How many more each lane takes: none while its circuit is open, but one to try with when its time has come.
    ///
    /// Where few would be, they are waited for, so that claims are not for one row each.
    private func rooms(at now: Date) async throws -> [LaneRoom] {
        let lanes = try await claims.lanes(before: walk.last, limit: Self.lanes)
        walk.last = lanes.count == Self.lanes ? lanes.last?.lane : nil
        var left = settings.maximumSends - underWay.count
        var rooms: [LaneRoom] = []
        for (lane, circuit) in lanes where left > 0 {
            if let circuit, circuit.isOpen {
                guard circuit.mayBeProbed(at: now) else { continue }
                let end = now.addingTimeInterval(Circuit.probe)
                guard try await CircuitStore(db: database).probe(lane, at: now, until: end) else { continue }
                rooms.append(LaneRoom(lane: lane, room: 1, isTrial: true))
                left -= 1
                continue
            }
            let limit = circuit?.room(of: settings.maximumLaneSends, at: now) ?? settings.maximumLaneSends
            let room = min(limit - underWay.count(in: lane), left, Self.batch)
            guard room > 0, room >= limit / 4 || room == left else { continue }
            rooms.append(LaneRoom(lane: lane, room: room, isTrial: false))
            left -= room
        }
        return rooms
    }

    /// False: it ends without being sent.
    private func begin(_ claimed: Claimed, at now: Date) -> Bool {
        if let verdict = verdicts.verdict(before: claimed, now: now) {
            answered(Settlement(claimed: claimed, verdict: verdict))
            return false
        }
        if claimed.isRepeated { meters.repeated() }
        // Detached: it outlives the claim, and a shutdown waits for it.
        Task.detached { await self.send(claimed) }
        return true
    }

    private func send(_ claimed: Claimed) async {
        guard let device = claimed.device else { return }
        let sentAt = now()
        let began = ContinuousClock.now
        let reply = await reply(to: claimed, device)
        meters.answered(claimed.lane.kind, reply.outcome, after: .now - began)
        let verdict = verdicts.verdict(on: reply, to: claimed, sentAt: sentAt, now: now(), jitter: random())
        answered(Settlement(claimed: claimed, verdict: verdict))
    }

    private func reply(to claimed: Claimed, _ device: Claimed.Device) async -> PushReply {
        do {
            let lane = claimed.lane
            guard let provider = try await providers.provider(lane.kind, of: lane.application) else {
                return PushReply(.misconfigured, reason: "no_credentials")
            }
            return await provider.send(claimed.message, to: device.target)
        } catch {
            logger.warning("a push service's credentials are not known", metadata: ["error": "\(error)"])
            return PushReply(.providerBusy, reason: "credentials_unavailable")
        }
    }

    private func answered(_ settlement: Settlement) {
        underWay.answer(settlement)
        answers.ring()
    }

    /// Writes down what was answered, as it comes; under load much at a time.
    private func settleAll() async {
        while true {
            do {
                if try await settle() > 0 { continue }
            } catch {
                logger.warning("what was sent is not written down", metadata: ["error": "\(error)"])
                try? await Task.sleep(for: .milliseconds(500))
            }
            if Task.isCancelled || (Task.isShuttingDownGracefully && underWay.count == 0) { return }
            await answers.wait(atMost: .milliseconds(500))
        }
    }

    /// Writes down what was answered so far; returns how many there were.
    func settle() async throws -> Int {
        let batch = underWay.takeAnswered(1_000)
        guard !batch.isEmpty else { return 0 }
        do {
            try await write(batch)
        } catch {
            guard FailedRow([], error) != nil else {
                underWay.putBack(batch)
                throw error
            }
            logger.notice("results are written one by one", metadata: ["error": "\(error)"])
            try await writeOneByOne(batch)
        }
        underWay.settled(batch)
        bell.ring()
        return batch.count
    }

    private func write(_ batch: [Settlement]) async throws {
        let opened = try await Settling(database: database, random: random).write(batch, at: now())
        for lane in opened {
            logger.error(
                "nothing is sent to a push service for a while",
                metadata: [
                    "provider": "\(lane.lane.kind.rawValue)", "application": "\(lane.lane.application)",
                    "reason": "\(lane.circuit.reason ?? "")",
                ]
            )
        }
    }

    /// Writes each result by itself; the row of a result that the database refuses is retried later, and set aside.
    private func writeOneByOne(_ batch: [Settlement]) async throws {
        for (place, settlement) in batch.enumerated() {
            do {
                do {
                    try await write([settlement])
                } catch {
                    let entry = settlement.claimed.entry
                    let key = [entry.user.application, entry.user.user, "\(entry.id)"]
                    guard let failed = FailedRow(key, error) else { throw error }
                    // Each retry sends the notification again, so there are as few as for a row that breaks a rule.
                    try await setAside.failed([FailedRow(key, .unreadable, detail: failed.detail)], of: .queued)
                }
            } catch {
                underWay.settled(Array(batch.prefix(place)))
                underWay.putBack(Array(batch.dropFirst(place)))
                throw error
            }
        }
    }

    private func renewAll() async {
        while !(Task.isShuttingDownGracefully && underWay.count == 0), !Task.isCancelled {
            do {
                try await renew()
            } catch {
                logger.warning("claims are not renewed", metadata: ["error": "\(error)"])
            }
            let pause = Task.isShuttingDownGracefully ? Duration.milliseconds(200) : Self.renewInterval
            await cancelWhenGracefulShutdown { try? await Task.sleep(for: pause) }
        }
    }

    /// Keeps what is under way for longer.
    func renew() async throws {
        let now = now()
        let entries = underWay.renewing(leasedBefore: now.addingTimeInterval(-Self.lease / 4), at: now)
        try await QueueStore(db: database).renew(entries, until: now.addingTimeInterval(Self.lease))
    }
}
