internal import CAFCore

extension WireTrace {
    init?(_ trace: afc_trace) {
        let bytes = Array(UnsafeRawBufferPointer(start: trace.bytes.bytes, count: trace.bytes.size))
        let event: Event
        switch trace.kind {
        case .AFC_TRACE_CONNECTION:
            guard let connection = trace.connection else { return nil }
            event = .connection(Connection(connection.pointee))
        case .AFC_TRACE_REQUEST: event = .requestHead(bytes)
        case .AFC_TRACE_RESPONSE: event = .responseLine(bytes)
        default: return nil
        }
        self.init(event, hop: trace.hop, isTunnel: trace.is_tunnel)
    }
}

extension WireTrace.Connection {
    fileprivate init(_ connection: afc_trace_connection) {
        let address = String.fromCArray(connection.remote_address)
        self.init(
            address: address.isEmpty ? nil : address, port: Int(connection.remote_port), isProxy: connection.is_proxy,
            isReused: connection.is_reused, tlsVersion: connection.tls_version.map { String(cString: $0) },
            cipher: connection.cipher.map { String(cString: $0) },
            applicationProtocol: connection.alpn.map { String(cString: $0) },
            certificateSubject: connection.subject.map { String(cString: $0) })
    }
}
