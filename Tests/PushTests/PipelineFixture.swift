import Foundation
import Logging
import Postgres
import PushAPI
import PushProviders
import ServiceHost
import ServiceLifecycle
import TestSupport
import Wire

@testable import PushServer

/// The notification pipeline over the test's own database, with a scripted provider and a clock that the test sets.
///
/// Nothing runs in the background: `run` processes everything that is due.
struct PipelineFixture: Sendable {
    let database: TestDatabase
    let clock: TestClock
    let provider: ScriptedProvider
    let pipeline: Pipeline
    let texts: PushTexts

    static let application = "acme"
    /// Noon on a Saturday.
    static let noon = date("2026-11-21T12:00:00Z")

    var pool: PostgresPool { database.pool }

    static func user(_ name: String, application: String = application) -> User.ID {
        User.ID(application: application, user: name)
    }

    static func pipeline(
        over database: TestDatabase,
        _ provider: ScriptedProvider,
        _ clock: TestClock,
        _ texts: PushTexts,
        _ change: (inout PipelineConfiguration) -> Void = { _ in }
    ) -> Pipeline {
        var settings = PipelineConfiguration()
        change(&settings)
        return Pipeline(
            database: database.pool,
            providers: provider,
            texts: texts,
            settings: settings,
            cursors: CursorSigner(secrets: ["cursors"]),
            setAside: database.setAside(PushService.setAsideKinds, now: clock.read),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            now: clock.read
        )
    }

    /// Returns another instance over the same database.
    func anotherInstance(
        _ provider: ScriptedProvider? = nil,
        _ change: (inout PipelineConfiguration) -> Void = { _ in }
    ) -> Pipeline {
        Self.pipeline(over: database, provider ?? self.provider, clock, texts, change)
    }

    /// Registers a device, by default with a token made of the user's name and the device's ID.
    @discardableResult
    func device(
        _ id: String = "phone",
        of name: String,
        _ platform: DevicePlatform = .iosProduction,
        token: String? = nil,
        session: String? = nil,
        application: String = application
    ) async throws -> Int64 {
        let token = token ?? "\(name)-\(id)"
        let web: String? = platform == .web ? "key" : nil
        return try await pool.one(
            """
            INSERT INTO devices (
                application_id, user_id, device_id, session_id, platform, token, token_hash, p256dh, auth, registered_at,
                seen_at
            )
            VALUES (
                \(application), \(name), \(id), \(session), \(platform.rawValue), \(token),
                sha256(convert_to(\(token), 'UTF8')), \(web), \(web), \(clock.read()), \(clock.read())
            )
            RETURNING device_key
            """,
            as: { try $0.int64("device_key") }
        )
    }

    /// Makes a broadcaster a favourite of a user.
    func addFavourite(
        _ broadcaster: String,
        by name: String,
        notify: Bool = true,
        cooldown: Bool = false,
        sound: String = "chord",
        without communities: [String] = []
    ) async throws {
        try await pool.run(
            """
            INSERT INTO subscriptions (
                application_id, user_id, broadcaster, name, notify, cooldown, sound, disabled_communities
            )
            VALUES (
                \(Self.application), \(name), \(broadcaster), \(broadcaster), \(notify), \(cooldown), \(sound),
                \(communities)
            )
            """
        )
    }

    /// Sets quiet hours between two minutes of the day.
    func setQuietHours(_ name: String, from start: Int, to end: Int, in zone: String) async throws {
        try await pool.run(
            """
            INSERT INTO settings (application_id, user_id, enabled, quiet_start, quiet_end, time_zone)
            VALUES (
                \(Self.application), \(name), true, \(Int16(start)), \(Int16(end)), \(zone)
            )
            """
        )
    }

    /// Requests a notification for users, as a service does.
    @discardableResult
    func notify(
        _ names: [String],
        _ title: String = "Hello",
        id: String = UUID().uuidString,
        kind: NotificationKind = .message,
        change: (inout NotificationRequest) -> Void = { _ in }
    ) async throws -> NotificationsAccepted {
        var request = NotificationRequest(
            id: id,
            applicationId: Self.application,
            kind: kind,
            recipients: names.map { NotificationRequest.Recipient(userId: $0) },
            title: title
        )
        change(&request)
        return try await pipeline.intake.accept([request])
    }

    /// Accepts the event that a stream is live.
    func goLive(_ broadcaster: String, stream: String, in community: String? = nil) async throws {
        let live = BroadcastLive(
            streamId: stream,
            broadcaster: broadcaster,
            title: "Live piano",
            url: "https://example.org/\(stream)",
            community: community,
            startedAt: clock.read()
        )
        try await pool.transaction { try await pipeline.broadcasts.accept(live, in: $0) }
    }

    /// Runs the fan-outs that are due.
    func decide(_ pipeline: Pipeline? = nil) async throws {
        while try await (pipeline ?? self.pipeline).fanOut.processBatch() > 0 {}
    }

    /// Runs fan-outs and sends notifications until nothing is due.
    func run(_ pipeline: Pipeline? = nil) async throws {
        let pipeline = pipeline ?? self.pipeline
        var steps = 1
        while steps > 0 {
            steps = try await pipeline.fanOut.processBatch()
            steps += try await pipeline.sender.claim()
            try await eventually { pipeline.sender.inFlight.awaitingResponse == 0 }
            steps += try await pipeline.sender.writeResults()
        }
    }

    /// Returns the user's log, newest first.
    func log(of name: String) async throws -> [NotificationRecord] {
        try await LogStore(db: pool).page(of: Self.user(name), before: nil, limit: 100, texts: texts)
    }

    /// Returns the outcomes of the user's notifications with their reasons, oldest first.
    func outcomes(of name: String) async throws -> [String] {
        try await log(of: name).reversed().map { entry in
            ([entry.outcome.rawValue] + [entry.reason].compactMap(\.self)).joined(separator: " ")
        }
    }

    func count(_ table: String) async throws -> Int {
        try await pool.one("SELECT count(*) AS n FROM \(identifier: table)", as: { try $0.int("n") })
    }
}

func withPipeline(
    at moment: Date = PipelineFixture.noon,
    _ change: (inout PipelineConfiguration) -> Void = { _ in },
    _ body: (PipelineFixture) async throws -> Void
) async throws {
    try await TestDatabase.with(migrations: ServiceHost.migrations(of: PushService.self)) { database in
        let clock = TestClock()
        clock.set(moment)
        let provider = ScriptedProvider()
        let texts = try PushTexts()
        let fixture = PipelineFixture(
            database: database,
            clock: clock,
            provider: provider,
            pipeline: PipelineFixture.pipeline(over: database, provider, clock, texts, change),
            texts: texts
        )
        try await body(fixture)
    }
}

/// Returns the time that a text of RFC 3339 describes.
func date(_ text: String) -> Date {
    // The text is a literal of a test, so it is well-formed.
    Timestamp.date(from: text) ?? .distantPast
}

/// Runs services until `body` has returned, and shuts them down gracefully.
func withRunning(_ services: [any Service], _ body: () async throws -> Void) async throws {
    let group = ServiceGroup(
        services: services,
        gracefulShutdownSignals: [],
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    )
    try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask { try await group.run() }
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await body())
        } catch {
            outcome = .failure(error)
        }
        await group.triggerGracefulShutdown()
        try await tasks.waitForAll()
        try outcome.get()
    }
}
