internal import CAFCore

extension CoreArena {
    /// Returns the options as a core value, which is valid as long as the arena.
    func options(_ network: NetworkOptions) throws(SessionError) -> afc_network_options {
        var options = afc_network_options()
        var overrides: [afc_host_override] = []
        for override in network.hostOverrides {
            var core = afc_host_override()
            core.host = try copy(override.host, "the host of an override")
            core.port = override.port
            core.addresses = try copy(override.addresses.joined(separator: ","), "an address of an override")
            overrides.append(core)
        }
        options.overrides = copy(overrides)
        options.override_count = overrides.count
        if !network.dnsServers.isEmpty {
            options.dns_servers = try copy(network.dnsServers.joined(separator: ","), "a DNS server")
        }
        options.doh_url = try copy(network.dnsOverHTTPS, "the URL of the DNS-over-HTTPS server")
        options.ip_version =
            switch network.ipVersion {
            case .any: .AFC_IP_ANY
            case .v4: .AFC_IP_V4
            case .v6: .AFC_IP_V6
            }
        // For the core, zero means libcurl's default.
        options.happy_eyeballs_ms = network.happyEyeballsDelay.map { max(1, $0.coreMilliseconds) } ?? 0
        options.interface = try copy(network.interface, "the interface")
        options.require_public_addresses = network.allowsOnlyPublicAddresses
        options.unix_socket = try copy(network.unixSocket, "the path of the socket")
        return options
    }
}
