import Configuration
import Foundation
import SMTP
import ServiceHost

/// How mails are sent, and what they say of this deployment.
struct EmailConfiguration: Sendable {
    /// Where mails are handed over; nil where none are sent.
    var server: SMTPConfiguration?
    var from: MailAddress?
    /// What the app is called, in mails and in authenticator apps.
    var appName = "Roost"
    /// The page that a link in a mail leads to; the token is put behind it, after a `#`.
    var verifyURL: String
    var resetURL: String

    /// No mails; links lead to the pages of auth itself.
    init(publicURL: String) {
        verifyURL = "\(publicURL)/auth/email/verify"
        resetURL = "\(publicURL)/auth/password/reset"
    }

    /// Reads the settings.
    ///
    /// - `SMTP_URL` (none): `smtp://user:password@host` (STARTTLS, port 587), `smtps://…` (TLS, 465) or
    ///   `smtp://host?tls=none` (cleartext, 25).
    /// - `SMTP_FROM` (needed with `SMTP_URL`): the address that mails come from.
    /// - `APP_NAME` (`Roost`): what the app is called.
    /// - `EMAIL_VERIFY_URL`, `PASSWORD_RESET_URL` (pages of auth): where links lead.
    /// - `TRUSTED_CA`: certificates of authorities that are trusted beside the machine's, PEM.
    init(_ configuration: ConfigReader, publicURL: String) throws {
        self.init(publicURL: publicURL)
        appName = configuration.text("APP_NAME", default: appName)
        guard (1...40).contains(appName.count), !appName.contains(where: \.isNewline) else {
            throw SettingError("APP_NAME", "must have 1 to 40 characters in one line")
        }
        verifyURL = try configuration.url("EMAIL_VERIFY_URL", default: verifyURL)
        resetURL = try configuration.url("PASSWORD_RESET_URL", default: resetURL)
        guard configuration.text("SMTP_URL") != nil else { return }
        do {
            var server = try SMTPConfiguration(url: configuration.secret("SMTP_URL"))
            server.trustedCA = try configuration.key("TRUSTED_CA")
            self.server = server
        } catch let error as SMTPConfiguration.Malformed {
            throw SettingError("SMTP_URL", error.description)
        }
        guard let from = configuration.text("SMTP_FROM") else {
            throw SettingError("SMTP_FROM", "is not set; with SMTP_URL it says which address mails come from")
        }
        do {
            self.from = try MailAddress(from, name: appName)
        } catch is MailAddress.Malformed {
            throw SettingError("SMTP_FROM", "is \"\(from)\"; it must be an address like no-reply@example.org")
        }
    }
}
