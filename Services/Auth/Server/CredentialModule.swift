import Logging
import ServiceHost
import ServiceLifecycle
import WebAuthn

/// The components for an account's credentials: e-mail address, password, second factor and passkeys.
struct CredentialModule: Sendable {
    let reauthentication: Reauthentication
    let addresses: EmailAddresses
    let passwordChanges: PasswordChanges
    let secondFactors: SecondFactors
    let passkeys: Passkeys
    let earlierCredentials: EarlierCredentials
    private let emailModule: EmailModule

    init(
        _ resources: ServiceResources,
        encryptor: TokenEncryptor,
        passwords: Passwords,
        throttle: LoginThrottle,
        sessionRevocations: SessionRevocations,
        emailModule: EmailModule,
        audit: Audit,
        party: RelyingParty
    ) {
        let (database, now) = (resources.database, resources.now)
        self.emailModule = emailModule
        reauthentication = Reauthentication(
            database: database,
            passwords: passwords,
            throttle: throttle,
            now: now
        )
        addresses = EmailAddresses(
            database: database,
            emailOutbox: emailModule.emailOutbox,
            reauthentication: reauthentication,
            audit: audit,
            events: resources.events,
            now: now
        )
        secondFactors = SecondFactors(
            database: database,
            encryptor: encryptor,
            reauthentication: reauthentication,
            throttle: throttle,
            emailOutbox: emailModule.emailOutbox,
            audit: audit,
            appName: emailModule.settings.appName,
            now: now
        )
        passkeys = Passkeys(
            database: database,
            party: party,
            appName: emailModule.settings.appName,
            nonces: Nonces(encryptor, now: now),
            reauthentication: reauthentication,
            emailOutbox: emailModule.emailOutbox,
            audit: audit,
            now: now
        )
        earlierCredentials = EarlierCredentials(sessionRevocations: sessionRevocations, audit: audit)
        passwordChanges = PasswordChanges(
            database: database,
            passwords: passwords,
            reauthentication: reauthentication,
            throttle: throttle,
            sessionRevocations: sessionRevocations,
            earlierCredentials: earlierCredentials,
            audit: audit,
            emailOutbox: emailModule.emailOutbox,
            now: now
        )
    }

    func add(to routes: SuiteRoutes, _ signIns: SignIns, _ clientInfo: ClientInfoReader) {
        let page = EmailLinkPage(texts: emailModule.texts)
        EmailRoutes(addresses: addresses, clientInfo: clientInfo, page: page).add(to: routes)
        PasswordRoutes(changes: passwordChanges, clientInfo: clientInfo, page: page).add(to: routes)
        SecondFactorRoutes(factors: secondFactors, signIns: signIns, clientInfo: clientInfo).add(to: routes)
        PasskeyRoutes(passkeys: passkeys, signIns: signIns, clientInfo: clientInfo).add(to: routes)
    }

    var background: [any Service] { emailModule.background }
}
