import Foundation
import Logging
import Postgres
import SMTP
import ServiceHost
import ServiceLifecycle

/// The components for e-mail: the outbox, and its worker if an SMTP server is configured.
struct EmailModule: Sendable {
    /// The parallel SMTP deliveries of an instance.
    private static let workers = 2

    let emailOutbox: EmailOutbox
    let settings: EmailConfiguration
    let texts: AuthTexts
    private let outboxWorker: OutboxWorker?

    /// - Throws: `SettingError` if the certificates of `TRUSTED_CA` cannot be read.
    init(
        _ settings: EmailConfiguration,
        texts: AuthTexts,
        database: PostgresPool,
        setAside: SetAside,
        logger: Logger,
        now: @escaping @Sendable () -> Date
    ) throws {
        self.settings = settings
        self.texts = texts
        guard let server = settings.server, let from = settings.from else {
            emailOutbox = EmailOutbox(isOn: false, now: now, notify: {})
            outboxWorker = nil
            return
        }
        let client: SMTPClient
        do {
            client = try SMTPClient(server)
        } catch let error as SMTPConfiguration.Malformed {
            throw SettingError("TRUSTED_CA", error.description)
        }
        let sender = EmailSender(
            database: database,
            client: client,
            from: from,
            settings: settings,
            texts: texts,
            setAside: setAside,
            logger: logger,
            now: now
        )
        let outboxWorker = OutboxWorker(
            to: "the mail server",
            Array(repeating: { try await sender.round() }, count: Self.workers),
            logger: logger
        )
        emailOutbox = EmailOutbox(isOn: true, now: now, notify: { outboxWorker.notify() })
        self.outboxWorker = outboxWorker
    }

    var background: [any Service] { outboxWorker?.maintenance ?? [] }
}
