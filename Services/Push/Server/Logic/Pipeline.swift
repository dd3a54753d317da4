import Foundation
import Logging
import Postgres
import PushAPI
import ServiceHost
import ServiceLifecycle
import Wire

struct Pipeline: Sendable {
    let intake: Intake
    let broadcasts: Broadcasts
    let notifications: Notifications
    let log: NotificationLog
    let queueAdmin: QueueAdmin
    let fanOut: FanOutWorker
    let sender: NotificationSender
    let maintenance: Maintenance
    private let logger: Logger

    init(
        database: PostgresPool,
        providers: any ProviderDirectory,
        texts: PushTexts,
        settings: PipelineConfiguration,
        cursors: CursorSigner,
        setAside: SetAside,
        logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.logger = logger
        sender = NotificationSender(
            database: database,
            providers: providers,
            texts: texts,
            settings: settings,
            setAside: setAside,
            logger: logger,
            now: now
        )
        fanOut = FanOutWorker(
            database: database,
            rules: Rules(cooldown: settings.cooldown),
            queueSignal: sender.wakeSignal,
            setAside: setAside,
            logger: logger,
            now: now
        )
        intake = Intake(database: database, wakeSignal: fanOut.wakeSignal, texts: texts, now: now)
        broadcasts = Broadcasts(intake: intake, lifetime: settings.broadcastLifetime, now: now)
        notifications = Notifications(database: database, intake: intake, now: now)
        log = NotificationLog(database: database, cursors: cursors, texts: texts)
        queueAdmin = QueueAdmin(database: database, wakeSignal: sender.wakeSignal, now: now)
        maintenance = Maintenance(database: database, settings: settings, now: now)
    }

    var background: [any Service] { [sender, fanOut] + maintenance.background(logger) }
}
