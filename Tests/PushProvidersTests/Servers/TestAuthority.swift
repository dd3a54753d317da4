import Crypto
import CryptoExtras
import NIOSSL

/// A self-signed certificate for `localhost` and `127.0.0.1`, valid for a century, and keys that no provider knows.
enum TestAuthority {
    static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBmzCCAUGgAwIBAgIURpHadv5GDuXjHLiIqJPyQj8wvuwwCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMjAzMTIxMloYDzIxMjYxMDI5
        MDMxMjEyWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
        PQMBBwNCAAStxvB/hpnTvCKScnKEeHRY8RuXoOHPiPkYoi/Q1O0k8A7L2WJQO4DP
        /ZfCOXXdZOj0/YAL5mURZdNlbLS+n5uno28wbTAdBgNVHQ4EFgQUZoCPexOWJRbl
        CUnYuez3/ojZWwEwHwYDVR0jBBgwFoAUZoCPexOWJRblCUnYuez3/ojZWwEwDwYD
        VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
        zj0EAwIDSAAwRQIgbd46ixI8234KHHoquN8GOXjS3oVD1r9DmG/Jo2lcAh0CIQCU
        9kqV1EXvRds/vm6vXyQux3EHCGNesIkOdBGJgehs4Q==
        -----END CERTIFICATE-----
        """

    private static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgl2Is4XH8C2I3bQ6e
        FZDGMVECx9ILniUburiFbSwAM+KhRANCAAStxvB/hpnTvCKScnKEeHRY8RuXoOHP
        iPkYoi/Q1O0k8A7L2WJQO4DP/ZfCOXXdZOj0/YAL5mURZdNlbLS+n5un
        -----END PRIVATE KEY-----
        """

    /// Returns a server's TLS context with the certificate.
    static func serverContext(protocols: [String]) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8)).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem))
        )
        configuration.applicationProtocols = protocols
        return try NIOSSLContext(configuration: configuration)
    }

    /// A private key and its public key, in PEM.
    struct KeyPair: Sendable {
        var privateKey: String
        var publicKey: String
    }

    /// The key of an Apple developer account.
    static let apple = {
        let key = P256.Signing.PrivateKey()
        return KeyPair(privateKey: key.pemRepresentation, publicKey: key.publicKey.pemRepresentation)
    }()

    /// The key of a Google service account, which is made once because that is slow.
    static let google: KeyPair? = {
        guard let key = try? _RSA.Signing.PrivateKey(keySize: .bits2048) else { return nil }
        return KeyPair(privateKey: key.pemRepresentation, publicKey: key.publicKey.pemRepresentation)
    }()
}
