import AuthAPI
import Foundation
import NetworkGuard
import PushProviders
import ServiceHost
import Wire

extension PushConfiguration {
    var credentials: Providers.Credentials {
        let own: [ProviderCredentials?] = [
            apns.map { .apns(key: $0.key, keyID: $0.keyID, teamID: $0.teamID, topic: $0.topic) },
            fcmServiceAccount.map { .fcm(serviceAccount: $0) },
            vapidKey.map { .vapid(privateKey: $0.privateKey, subject: vapidSubject) },
        ]
        return Dictionary(uniqueKeysWithValues: own.compactMap(\.self).map { ($0.kind, $0) })
    }

    /// - Throws: `PushCredentialsError` for unusable credentials.
    func client(_ credentials: ProviderCredentials) throws -> any PushProvider {
        switch credentials {
        case .apns(let key, let keyID, let teamID, let topic):
            var configuration = APNsClient.Configuration()
            configuration.productionURL = apnsURL
            configuration.sandboxURL = apnsSandboxURL
            configuration.trustedAuthorities = trustedCA
            return try APNsClient(
                credentials: .init(key: key, keyID: keyID, teamID: teamID, topic: topic),
                configuration: configuration
            )
        case .fcm(let serviceAccount):
            var configuration = FCMClient.Configuration()
            configuration.url = fcmURL
            configuration.tokenURL = fcmTokenURL
            configuration.trustedAuthorities = trustedCA
            return try FCMClient(serviceAccount: serviceAccount, configuration: configuration)
        case .vapid(let privateKey, let subject):
            var configuration = WebPushClient.Configuration()
            configuration.addresses = addressGuard
            configuration.trustedAuthorities = trustedCA
            return try WebPushClient(
                key: try VAPIDKey(privateKey),
                subject: subject,
                configuration: configuration
            )
        }
    }
}

extension ProviderCredentials {
    static func all(_ credentials: PushCredentials) -> Providers.Credentials {
        let own: [ProviderCredentials?] = [
            credentials.apns.map { .apns(key: $0.key, keyID: $0.keyId, teamID: $0.teamId, topic: $0.topic) },
            credentials.fcm.map { .fcm(serviceAccount: $0.serviceAccount) },
            credentials.vapid.map { .vapid(privateKey: $0.privateKey, subject: $0.subject) },
        ]
        return Dictionary(uniqueKeysWithValues: own.compactMap(\.self).map { ($0.kind, $0) })
    }
}
