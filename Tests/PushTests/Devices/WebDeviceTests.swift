import AuthAPI
import Crypto
import Foundation
import HTTPTypes
import PushAPI
import PushProviders
import TestSupport
import Testing
import Wire

/// Web Push subscriptions, whose endpoint the browser chooses.
@Suite("Browser devices") struct WebDeviceTests {
    private static let point = P256.KeyAgreement.PrivateKey().publicKey
    private static let key = Base64URL.encode(point.x963Representation)
    private static let secret = Base64URL.encode(Data(repeating: 7, count: 16))

    @Test("A browser's subscription is stored without base64 padding")
    func subscription() async throws {
        try await withPush { fixture in
            // The output of `toJSON()` in a browser that pads base64.
            let body = """
                {"platform": "web", "subscription": {"endpoint": "https://push.example.org/send/abc?d=1",
                 "expirationTime": null, "keys": {"p256dh": "\(Self.key)=", "auth": "\(Self.secret)=="}}}
                """
            let response = try await fixture.ann.ask(.post, "/devices", body)

            let device = try response.decode(Device.self)
            #expect(device.platform == .web)
            #expect(device.token == "https://push.example.org/…?d=1")
            let rows = try await fixture.rows("SELECT concat_ws(' ', token, p256dh, auth) AS row FROM devices")
            #expect(rows == ["https://push.example.org/send/abc?d=1 \(Self.key) \(Self.secret)"])
        }
    }

    @Test(
        "An endpoint that is not a public HTTPS URL is rejected",
        arguments: [
            "http://push.example.org/a", "ftp://push.example.org/a", "/a", "push.example.org", "https://", "https:///a",
            "https://u:p@push.example.org/a", "https://push.example.org/a#b", "https://localhost/a",
            "https://a.localhost/a", "https://127.0.0.1/a", "https://10.1.2.3:8443/a", "https://169.254.169.254/latest",
            "https://[::1]/a",
            "https://[::ffff:10.0.0.1]/a", "https://[fd00::1]/a", "https://192.168.1.1/a", "https://intranet/a",
            "https://db.internal/a", "https://2130706433/a", "https://127.1/a", "https://exa mple.org/a",
            "https://push.example.org/\(String(repeating: "x", count: 4_096))",
            "https://\(String(repeating: "x.", count: 122))example.org/a",
        ]
    )
    func invalidEndpoint(_ endpoint: String) async throws {
        try await withPush { fixture in
            let response = try await fixture.ann.ask(.post, "/devices", Self.body(endpoint))

            #expect(response.status == 400, "\(response.text)")
            #expect(response.problem?.field == "subscription.endpoint")
        }
    }

    @Test("Only the hosts of ALLOWED_PRIVATE_HOSTS may be private or use HTTP")
    func allowedPrivateHosts() async throws {
        try await withPush(settings: ["ALLOWED_PRIVATE_HOSTS": "127.0.0.1:8090, [::1]:8091"]) { fixture async throws in
            for endpoint in ["http://127.0.0.1:8090/webpush/1", "https://[::1]:8091/webpush/2"] {
                #expect(try await fixture.ann.ask(.post, "/devices", Self.body(endpoint)).status == 200)
            }
            for endpoint in ["http://127.0.0.1:8091/webpush/1", "http://push.example.org/1"] {
                #expect(try await fixture.ann.ask(.post, "/devices", Self.body(endpoint)).status == 400)
            }
        }
    }

    @Test("A subscription with malformed keys is rejected")
    func invalidKeys() async throws {
        var off = Self.point.x963Representation
        off[64] ^= 1
        let keys = [
            ("", Self.secret), ("x", Self.secret), (Base64URL.encode(off), Self.secret),
            (Base64URL.encode(Self.point.compressedRepresentation), Self.secret),
            (Base64URL.encode(Self.point.rawRepresentation), Self.secret),
            (Base64URL.encode(Self.point.x963Representation + [0]), Self.secret),
            (String(repeating: "A", count: 10_000), Self.secret),
            (Self.key, ""), (Self.key, Base64URL.encode(Data(repeating: 7, count: 15))),
        ]
        try await withPush { fixture in
            for (key, secret) in keys {
                let body = Self.body("https://push.example.org/a", key: key, secret: secret)
                let response = try await fixture.ann.ask(.post, "/devices", body)
                let field = key == Self.key ? "subscription.keys.auth" : "subscription.keys.p256dh"
                #expect(response.status == 400, "\(response.text)")
                #expect(response.problem?.field == field, "\(response.text)")
            }
            let withoutKeys = #"{"platform": "web", "subscription": {"endpoint": "https://push.example.org/a"}}"#
            #expect(try await fixture.ann.ask(.post, "/devices", withoutKeys).problem?.field == "subscription.keys")
        }
    }

    @Test("The VAPID public key is readable without authentication")
    func vapidKey() async throws {
        let key = P256.Signing.PrivateKey()
        let expected = Base64URL.encode(key.publicKey.x963Representation)
        for setting in [Base64URL.encode(key.rawRepresentation), key.pemRepresentation] {
            try await withPush(settings: ["VAPID_PRIVATE_KEY": setting]) { fixture in
                let response = try await fixture.service.send(.get, "/push/vapid-key")
                #expect(try response.decode(ApplicationServerKey.self).publicKey == expected)
            }
        }
        try await withPush { fixture in
            let response = try await fixture.service.send(.get, "/push/vapid-key")
            #expect(response.status == 404)
            #expect(response.problem?.code == "vapid_key_not_configured")
        }
    }

    @Test("An application's own VAPID key is the one its users read")
    func applicationVAPIDKey() async throws {
        let (ours, theirs) = (VAPIDKey(), VAPIDKey())
        let own = PushCredentials(vapid: .init(privateKey: theirs.privateKey, subject: "mailto:a@example.org"))
        try await withPush(settings: ["VAPID_PRIVATE_KEY": ours.privateKey], credentials: own) { fixture in
            let roostUser = try await fixture.person("cy", application: RoostApplication.id)

            #expect(try await fixture.ann.preferences.applicationServerKey().publicKey == theirs.publicKey)
            #expect(try await roostUser.preferences.applicationServerKey().publicKey == ours.publicKey)
            let anonymous = try await fixture.service.send(.get, "/push/vapid-key")
            #expect(try anonymous.decode(ApplicationServerKey.self).publicKey == ours.publicKey)
        }
    }

    private static func body(_ endpoint: String, key: String = Self.key, secret: String = Self.secret) -> String {
        """
        {"platform": "web", "subscription":
         {"endpoint": "\(endpoint)", "keys": {"p256dh": "\(key)", "auth": "\(secret)"}}}
        """
    }
}
