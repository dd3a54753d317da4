import GatewayServer

/// Self-signed certificates for `a.example` and `b.example`, valid for a century.
enum TestCertificate {
    static let a = CertificateSource(certificate: certificateA, key: keyA)
    static let b = CertificateSource(certificate: certificateB, key: keyB)

    static let certificateA = """
        -----BEGIN CERTIFICATE-----
        MIIBoTCCAUagAwIBAgIUPdj8EkxD9R1orbcdk8ZQRwUi740wCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJYS5leGFtcGxlMCAXDTI2MTEyMTA4MjA1N1oYDzIxMjYxMDI4
        MDgyMDU3WjAUMRIwEAYDVQQDDAlhLmV4YW1wbGUwWTATBgcqhkjOPQIBBggqhkjO
        PQMBBwNCAATSLA0bZl3dDDnUBxBtJsDFGLD1sh5Zi+awf2CeAe4VrQmKstfs7T8h
        uSyX/rMOFkj3CZKawhtlbzSYd3kaj6zUo3QwcjAdBgNVHQ4EFgQU3PM25lt+6YJr
        BNQoN4dNDEtZAw8wHwYDVR0jBBgwFoAU3PM25lt+6YJrBNQoN4dNDEtZAw8wDwYD
        VR0TAQH/BAUwAwEB/zAfBgNVHREEGDAWgglhLmV4YW1wbGWCCWxvY2FsaG9zdDAK
        BggqhkjOPQQDAgNJADBGAiEAjUDFqtwi2CIOoJALBPWWPHK20Pj9hnkBsOvCNxBv
        YfECIQCDYW/421TDzCS1w6zYqxYcCxScIqjmKQ5Om9E3IAMWrw==
        -----END CERTIFICATE-----
        """

    static let keyA = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgNxFUKoiaRP8tR3kl
        AMKDBM1sAblgJk8Ith15x3yazcShRANCAATSLA0bZl3dDDnUBxBtJsDFGLD1sh5Z
        i+awf2CeAe4VrQmKstfs7T8huSyX/rMOFkj3CZKawhtlbzSYd3kaj6zU
        -----END PRIVATE KEY-----
        """

    static let certificateB = """
        -----BEGIN CERTIFICATE-----
        MIIBoDCCAUagAwIBAgIUDXiQtb4G9OR1m0Zl9oOaFhGWr5YwCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJYi5leGFtcGxlMCAXDTI2MTEyMTA4MjA1N1oYDzIxMjYxMDI4
        MDgyMDU3WjAUMRIwEAYDVQQDDAliLmV4YW1wbGUwWTATBgcqhkjOPQIBBggqhkjO
        PQMBBwNCAARIQ11z26e9UHR3OLqHMfbqVS09uHAeKX8dWArwLz4TpkcBUmPlcz8Y
        y6IcM1+EV/wHFUorDc4b4HkaefwLwE6Xo3QwcjAdBgNVHQ4EFgQUrdeU9LkWpX+g
        YdgCBLgaFmhyE/8wHwYDVR0jBBgwFoAUrdeU9LkWpX+gYdgCBLgaFmhyE/8wDwYD
        VR0TAQH/BAUwAwEB/zAfBgNVHREEGDAWggliLmV4YW1wbGWCCWxvY2FsaG9zdDAK
        BggqhkjOPQQDAgNIADBFAiAyx2JVZo+laV6L1BJEg0Kok4TJmCN6eIyLV20lRcJ9
        ugIhAK01oRhUlt+oE88/q35JngZegeQL/RZ+p5p122zyWh7S
        -----END CERTIFICATE-----
        """

    static let keyB = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgZM71Dvbc60dKldMu
        oQZd3jZv5XXv7MksY8gq91Geyp6hRANCAARIQ11z26e9UHR3OLqHMfbqVS09uHAe
        KX8dWArwLz4TpkcBUmPlcz8Yy6IcM1+EV/wHFUorDc4b4HkaefwLwE6X
        -----END PRIVATE KEY-----
        """
}
