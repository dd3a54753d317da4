import Foundation
import OAuth1
import Testing

@Suite("OAuth 1 signatures") struct OAuth1SignerTests {
    /// RFC 5849, section 1.2.
    @Test("The RFC's example request has the RFC's signature")
    func exampleOfRFC() throws {
        let signer = OAuth1Signer(
            client: OAuth1Credentials(key: "dpf43f3p2l4k3l03", secret: "kd94hf93k423kf44"),
            token: OAuth1Credentials(key: "nnch734d00sl2jdk", secret: "pfkkdhi9sl3r4s00")
        )
        let base = try #require(
            OAuth1BaseString(
                method: "GET",
                url: "http://photos.example.net/photos?file=vacation.jpg&size=original",
                parameters: [
                    FormField("realm", "Photos"),
                    FormField("oauth_consumer_key", "dpf43f3p2l4k3l03"),
                    FormField("oauth_token", "nnch734d00sl2jdk"),
                    FormField("oauth_signature_method", "HMAC-SHA1"),
                    FormField("oauth_timestamp", "137131202"),
                    FormField("oauth_nonce", "chapoH"),
                    FormField("oauth_signature", "whatever was sent"),
                ]
            )
        )
        #expect(signer.signature(of: base) == "MdpQcU8iPSUjWoN/UDMsK2sui9I=")
    }

    /// RFC 5849, section 3.4.1.1, with the signature of erratum 2550.
    @Test("The RFC's example request has the RFC's base string")
    func baseString() throws {
        let base = try #require(
            OAuth1BaseString(
                method: "post",
                url: "HTTP://EXAMPLE.com:80/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b",
                parameters: FormField.parse("c2&a3=2+q") + [
                    FormField("oauth_consumer_key", "9djdj82h48djs9d2"),
                    FormField("oauth_token", "kkk9d7dh3k39sjv7"),
                    FormField("oauth_signature_method", "HMAC-SHA1"),
                    FormField("oauth_timestamp", "137131201"),
                    FormField("oauth_nonce", "7d8f3e4a"),
                ]
            )
        )
        #expect(
            base.text
                == "POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D%26c%2540"
                + "%3D%26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a%26oauth_signature_method%3D"
                + "HMAC-SHA1%26oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7"
        )
        let signer = OAuth1Signer(
            client: OAuth1Credentials(key: "9djdj82h48djs9d2", secret: "j49sk3j29djd"),
            token: OAuth1Credentials(key: "kkk9d7dh3k39sjv7", secret: "dh893hdasih9")
        )
        #expect(signer.signature(of: base) == "r6/TJjbCOr97/+UU0NsvSne7s5g=")
    }

    /// "Creating a signature" in Twitter's documentation, with its published keys, which are no longer valid.
    @Test(
        "The example of Twitter's documentation has the documented header",
        arguments: [
            ("api.twitter.com", "hCtSmYh+iHYCEqBWrE7C7hYmtUk="),
            ("api.x.com", "Ls93hJiZbQ3akF3HF3x1Bz8/zU4="),
        ]
    )
    func tweet(host: String, signature: String) throws {
        let signer = OAuth1Signer(
            client: OAuth1Credentials(
                key: "xvz1evFS4wEEPTGEFPHBog",
                secret: "kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw"
            ),
            token: OAuth1Credentials(
                key: "370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb",
                secret: "LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE"
            )
        )
        let header = try #require(
            signer.authorization(
                "POST",
                "https://\(host)/1.1/statuses/update.json?include_entities=true",
                form: [FormField("status", "Hello Ladies + Gentlemen, a signed OAuth request!")],
                nonce: "kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg",
                time: Date(timeIntervalSince1970: 1_318_622_958)
            )
        )
        #expect(
            header
                == "OAuth oauth_consumer_key=\"xvz1evFS4wEEPTGEFPHBog\", oauth_nonce=\"kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg\", "
                + "oauth_signature=\"\(PercentEncoding.encode(signature))\", oauth_signature_method=\"HMAC-SHA1\", "
                + "oauth_timestamp=\"1318622958\", oauth_token=\"370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb\", "
                + "oauth_version=\"1.0\""
        )
    }

    /// The expected signatures are from another implementation (Python's hmac).
    @Test("A request with a query, and one without a token, have the expected signatures")
    func queryAndRequestToken() throws {
        let client = OAuth1Credentials(key: "ck", secret: "cs")
        let time = Date(timeIntervalSince1970: 1_700_000_000)
        let read = OAuth1Signer(client: client, token: OAuth1Credentials(key: "tk", secret: "ts")).authorization(
            "GET",
            "https://api.twitter.com/1.1/statuses/home_timeline.json?count=20&max_id=1149867427863379967"
                + "&tweet_mode=extended",
            nonce: "n0nce",
            time: time
        )
        #expect(try #require(read).contains("oauth_signature=\"HF0YXMjuMKh%2BnCqlBQF%2B4JhbOtk%3D\""))
        let begin = OAuth1Signer(client: client).authorization(
            "POST",
            "https://www.tumblr.com/oauth/request_token",
            adding: [FormField("oauth_callback", "https://app.example/cb?x=1")],
            nonce: "n0nce",
            time: time
        )
        #expect(try #require(begin).contains("oauth_signature=\"OOTXR7wc7yF%2BD%2F3NF06Gra1GXTc%3D\""))
        #expect(try #require(begin).contains("oauth_callback=\"https%3A%2F%2Fapp.example%2Fcb%3Fx%3D1\""))
    }

    @Test("The base string contains the port unless it is the scheme's default")
    func port() {
        let text = { (url: String) in OAuth1BaseString(method: "GET", url: url, parameters: [])?.text }
        #expect(text("https://a.example:443/") == text("https://a.example"))
        #expect(text("http://a.example:443/") == "GET&http%3A%2F%2Fa.example%3A443%2F&")
        #expect(text("https://a.example/b#c") == "GET&https%3A%2F%2Fa.example%2Fb&")
        #expect(text("/only/a/path") == nil)
    }

    @Test("Every nonce is different and has 32 characters")
    func nonces() {
        let nonces = Set((0..<1_000).map { _ in OAuth1Signer.randomNonce() })
        #expect(nonces.count == 1_000)
        #expect(nonces.allSatisfy { $0.utf8.count == 32 })
    }

    @Test("Descriptions of credentials do not contain the secret")
    func redaction() {
        let credentials = OAuth1Credentials(key: "ck", secret: "hidden")
        var dumped = ""
        dump(OAuth1Signer(client: credentials, token: credentials), to: &dumped)
        for text in [dumped, "\(credentials)", String(reflecting: OAuth1Signer(client: credentials))] {
            #expect(text.contains("ck"))
            #expect(!text.contains("hidden"))
        }
    }
}
