import Foundation
import Logging
import Postgres
import SMTP
import ServiceHost
import ServiceLifecycle

/// The mails of a deployment: those who note them, and, where a mail server is set, those who send them.
struct Mailing: Sendable {
    /// How many mails are handed over at once by an instance.
    private static let workers = 2

    let mails: Mails
    let settings: MailConfiguration
    let texts: AuthTexts
    private let handOvers: HandOvers?

    /// - Throws: `SettingError` where certificates cannot be read.
    init(
        _ settings: MailConfiguration,
        texts: AuthTexts,
        database: PostgresPool,
        setAside: SetAside,
        logger: Logger,
        now: @escaping @Sendable () -> Date
    ) throws {
        self.settings = settings
        self.texts = texts
        guard let server = settings.server, let from = settings.from else {
            mails = Mails(isOn: false, now: now, ring: {})
            handOvers = nil
            return
        }
        let client: SMTPClient
        do {
            client = try SMTPClient(server)
        } catch let error as SMTPConfiguration.Malformed {
            throw SettingError("TRUSTED_CA", error.description)
        }
        let delivery = MailDelivery(
            database: database,
            client: client,
            from: from,
            settings: settings,
            texts: texts,
            setAside: setAside,
            logger: logger,
            now: now
        )
        let handOvers = HandOvers(
            to: "the mail server",
            Array(repeating: { try await delivery.round() }, count: Self.workers),
            logger: logger
        )
        mails = Mails(isOn: true, now: now, ring: { handOvers.ring() })
        self.handOvers = handOvers
    }

    var background: [any Service] { handOvers?.upkeep ?? [] }
}
