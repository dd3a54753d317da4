import Logging
import ServiceHost
import ServiceLifecycle
import WebAuthn

/// What keeps an account its owner's: its address, its password, and what is asked besides.
struct CredentialCare: Sendable {
    let reauthentication: Reauthentication
    let addresses: EmailAddresses
    let passwordChanges: PasswordChanges
    let secondFactors: SecondFactors
    let passkeys: Passkeys
    let earlier: EarlierCredentials
    private let mailing: Mailing

    init(
        _ resources: ServiceResources,
        sealer: Sealer,
        passwords: Passwords,
        throttle: LoginThrottle,
        ends: SessionEnds,
        mailing: Mailing,
        audit: Audit,
        party: RelyingParty
    ) {
        let (database, now) = (resources.database, resources.now)
        self.mailing = mailing
        reauthentication = Reauthentication(
            database: database,
            passwords: passwords,
            throttle: throttle,
            now: now
        )
        addresses = EmailAddresses(
            database: database,
            mails: mailing.mails,
            reauthentication: reauthentication,
            audit: audit,
            now: now
        )
        secondFactors = SecondFactors(
            database: database,
            sealer: sealer,
            reauthentication: reauthentication,
            throttle: throttle,
            mails: mailing.mails,
            audit: audit,
            appName: mailing.settings.appName,
            now: now
        )
        passkeys = Passkeys(
            database: database,
            party: party,
            appName: mailing.settings.appName,
            nonces: Nonces(sealer, now: now),
            reauthentication: reauthentication,
            mails: mailing.mails,
            audit: audit,
            now: now
        )
        earlier = EarlierCredentials(ends: ends, audit: audit)
        passwordChanges = PasswordChanges(
            database: database,
            passwords: passwords,
            reauthentication: reauthentication,
            throttle: throttle,
            ends: ends,
            earlier: earlier,
            audit: audit,
            mails: mailing.mails,
            now: now
        )
    }

    func add(to routes: SuiteRoutes, _ signIns: SignIns, _ callers: Callers) {
        let page = LinkPage(texts: mailing.texts)
        EmailRoutes(addresses: addresses, callers: callers, page: page).add(to: routes)
        PasswordRoutes(changes: passwordChanges, callers: callers, page: page).add(to: routes)
        SecondFactorRoutes(factors: secondFactors, signIns: signIns, callers: callers).add(to: routes)
        PasskeyRoutes(passkeys: passkeys, signIns: signIns, callers: callers).add(to: routes)
    }

    var background: [any Service] { mailing.background }
}
