import Configuration
import Foundation
import SMTP
import ServiceHost

struct EmailConfiguration: Sendable {
    /// The SMTP server; nil if the service sends no emails.
    var server: SMTPConfiguration?
    var from: MailAddress?
    /// The app's name in emails and in authenticator apps.
    var appName = "Roost"
    /// The page that an email's link opens; the token is appended after a `#`.
    var verifyURL: String
    var resetURL: String

    /// Creates settings without an SMTP server; links lead to auth's own pages.
    init(publicURL: String) {
        verifyURL = "\(publicURL)/auth/email/verify"
        resetURL = "\(publicURL)/auth/password/reset"
    }

    /// Reads the settings.
    ///
    /// - `SMTP_URL` (none): `smtp://user:password@host` (STARTTLS, port 587), `smtps://…` (TLS, 465) or
    ///   `smtp://host?tls=none` (cleartext, 25).
    /// - `SMTP_FROM` (required with `SMTP_URL`): the sender address of emails.
    /// - `APP_NAME` (`Roost`): the name of the app.
    /// - `EMAIL_VERIFY_URL`, `PASSWORD_RESET_URL` (auth's own pages): the targets of links.
    /// - `TRUSTED_CA`: certificates of CAs to trust in addition to the system's, PEM.
    init(_ configuration: ConfigReader, publicURL: String) throws {
        self.init(publicURL: publicURL)
        appName = configuration.text("APP_NAME", default: appName)
        guard (1...40).contains(appName.count), !appName.contains(where: \.isNewline) else {
            throw SettingError("APP_NAME", "must have 1 to 40 characters and no line break")
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
            throw SettingError("SMTP_FROM", "is not set; SMTP_URL requires it as the sender address")
        }
        do {
            self.from = try MailAddress(from, name: appName)
        } catch is MailAddress.Malformed {
            throw SettingError("SMTP_FROM", "is \"\(from)\"; it must be an address like no-reply@example.org")
        }
    }
}
