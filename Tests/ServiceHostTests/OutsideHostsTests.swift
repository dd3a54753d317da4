import Configuration
import ServiceHost
import Testing

/// Where users may have us connect to.
@Suite struct OutsideHostsTests {
    @Test(arguments: [
        "0.0.0.0", "10.255.255.255", "100.64.0.1", "127.0.0.1", "127.255.0.1", "169.254.169.254", "172.16.0.1",
        "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.168.255.1", "198.18.0.1", "198.19.255.255", "198.51.100.1",
        "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1",
        "::ffff:10.0.0.1", "::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::1", "100::1", "2001:db8::1", "2001::1",
        "2002:7f00:1::", "fc00::1", "fdff::1", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1",
    ])
    func theseAreNobodysBusiness(_ text: String) throws {
        #expect(!OutsideHosts.isPublic(try #require(IPAddress(text))))
        #expect(!OutsideHosts().mayBe(host: text.contains(":") ? "[\(text)]" : text, port: 443))
    }

    @Test(arguments: [
        "1.1.1.1", "9.255.255.255", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.167.0.1",
        "198.17.0.1", "198.20.0.1", "223.255.255.255", "2606:4700::1111", "2a00:1450::1", "::ffff:1.1.1.1",
    ])
    func theseArePublic(_ text: String) throws {
        #expect(OutsideHosts.isPublic(try #require(IPAddress(text))))
        #expect(OutsideHosts().mayBe(host: text.contains(":") ? "[\(text)]" : text, port: 443))
    }

    @Test func whatTheOperatorNamesIsAllowedByHostAndPort() throws {
        let settings = ["ALLOWED_PRIVATE_HOSTS": " 10.0.0.7:8443 , Push.Internal:80,[fd00::1]:443"]
        let reader = ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: settings))
        let hosts = try OutsideHosts(reader)

        #expect(hosts.isAllowed(host: "10.0.0.7", port: 8_443) && hosts.isAllowed(host: "push.internal", port: 80))
        #expect(hosts.mayBe(host: "[fd00::1]", port: 443) && hosts.mayBe(host: "PUSH.internal", port: 80))
        #expect(!hosts.mayBe(host: "10.0.0.7", port: 443) && !hosts.mayBe(host: "push.internal", port: 443))
        #expect(!hosts.isAllowed(host: "example.org", port: 443) && hosts.mayBe(host: "example.org", port: 443))
    }
}
