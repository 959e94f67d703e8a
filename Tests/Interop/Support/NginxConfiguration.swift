import Foundation

/// The configuration that ``Nginx`` runs with, as text.
struct NginxConfiguration {
    let folder: String
    let ports: [Nginx.Listener: Int]
    let httpbinPort: Int
    let webSocketPort: Int

    static func usesTLS(_ listener: Nginx.Listener) -> Bool {
        switch listener {
        case .plain, .http2, .threeRequests, .impatient: false
        case .tls, .tls12, .tls13, .narrow, .expired, .notYetValid, .wrongHost, .selfSigned: true
        }
    }

    var main: String {
        """
        daemon off;
        worker_processes 1;
        pid \(folder)/nginx.pid;
        error_log \(folder)/log notice;
        \(geteuid() == 0 ? "user root root;" : "")
        events { worker_connections 1024; }
        http {
            access_log off;
            default_type application/octet-stream;
            keepalive_requests 100000;
            http2_max_concurrent_streams 256;
            client_max_body_size 64m;
            client_body_temp_path \(folder)/bodies;
            proxy_temp_path \(folder)/proxied;
            fastcgi_temp_path \(folder)/fastcgi;
            uwsgi_temp_path \(folder)/uwsgi;
            scgi_temp_path \(folder)/scgi;
            add_header X-Connection $connection always;
            add_header X-Worker $pid always;
            add_header X-Protocol $server_protocol always;
            add_header X-TLS $ssl_protocol always;
        \(Nginx.Listener.allCases.map(server).joined(separator: "\n"))
        }
        """
    }

    private func server(_ listener: Nginx.Listener) -> String {
        """
            server {
                listen 127.0.0.1:\(ports[listener] ?? 0)\(Self.options(listener));
                \(Self.usesTLS(listener) ? "ssl_certificate \(folder)/\(listener).pem;" : "")
                \(Self.usesTLS(listener) ? "ssl_certificate_key \(folder)/\(listener).key;" : "")
                \(Self.directives(listener))
                include \(folder)/locations.conf;
            }
        """
    }

    private static func options(_ listener: Nginx.Listener) -> String {
        switch listener {
        case .http2: " http2"
        case .tls, .narrow: " ssl http2"
        default: usesTLS(listener) ? " ssl" : ""
        }
    }

    private static func directives(_ listener: Nginx.Listener) -> String {
        switch listener {
        case .tls: "ssl_protocols TLSv1.2 TLSv1.3;"
        case .tls12: "ssl_protocols TLSv1.2;"
        case .tls13: "ssl_protocols TLSv1.3;"
        case .narrow: "http2_max_concurrent_streams 8;"
        case .threeRequests: "keepalive_requests 3;"
        case .impatient: "keepalive_timeout 1ms;"
        default: ""
        }
    }

    /// What every port serves.
    var locations: String {
        """
        location /files/ { root \(folder); }
        location /private/files/ { auth_basic "Fake Realm"; auth_basic_user_file \(folder)/users; alias \(folder)/files/; }
        location /private/dav/ {
            auth_basic "Fake Realm";
            auth_basic_user_file \(folder)/users;
            alias \(folder)/dav/;
            dav_methods PUT;
        }
        location /dav/ { root \(folder); dav_methods PUT DELETE; }
        location /httpbin/ { proxy_pass http://127.0.0.1:\(httpbinPort)/; }
        location /sockets/ {
            proxy_pass http://127.0.0.1:\(webSocketPort)/;
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection upgrade;
        }
        location = /small { default_type text/plain; return 200 "small"; }
        location = /echo {
            default_type application/json;
            return 200 '\(echo)';
        }
        location = /missing {
            default_type application/problem+json;
            return 404 '{"title": "There is no such thing", "code": 17}';
        }
        location = /close { keepalive_timeout 0; default_type text/plain; return 200 "closing"; }
        location = /abrupt { return 444; }
        location = /unwilling { client_max_body_size 1k; proxy_pass http://127.0.0.1:\(httpbinPort)/post; }
        location = /to-httpbin { return 307 http://127.0.0.1:\(httpbinPort)/anything; }
        location = /loop { return 302 /loop; }
        location = /slow { root \(folder)/files; try_files /medium.bin =500; limit_rate 256k; }
        # Without a Content-Length: with one, libcurl 7 does not wait for the trailers of HTTP/2.
        location = /trailed {
            proxy_pass http://127.0.0.1:\(httpbinPort)/stream/3;
            add_trailer X-Checksum "4-8-15";
            add_trailer X-Done yes;
        }
        """
    }

    /// The parts of a request that tests ask nginx about, as a JSON template.
    private var echo: String {
        let parts = [
            ("method", "$request_method"), ("query", "$args"), ("protocol", "$server_protocol"), ("host", "$http_host"),
            ("authorization", "$http_authorization"), ("cookie", "$http_cookie"), ("plain", "$http_x_plain"),
            ("token", "$http_x_token"), ("agent", "$http_user_agent"), ("accept", "$http_accept_encoding"),
        ]
        let members = parts.map { "\"\($0.0)\": \"\($0.1)\"" }
        return "{\(members.joined(separator: ", "))}"
    }
}
