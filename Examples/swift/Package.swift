// swift-tools-version: 6.2
import PackageDescription

let http: Target.Dependency = .product(name: "SwiftAF", package: "SwiftAF")
let images: Target.Dependency = .product(name: "SwiftAFImage", package: "SwiftAF")
let testServer: Target.Dependency = .product(name: "AFTestServer", package: "SwiftAF")

let package = Package(
    name: "Examples",
    // In your own package this is the address or the path of your copy. Without pictures, leave out the traits.
    dependencies: [.package(name: "SwiftAF", path: "../..", traits: ["Images"])],
    targets: [
        .executableTarget(name: "rest-client", dependencies: [http]),
        .executableTarget(name: "login", dependencies: [http]),
        .executableTarget(name: "token-refresh", dependencies: [http]),
        .executableTarget(name: "upload", dependencies: [http]),
        .executableTarget(name: "resume", dependencies: [http]),
        .executableTarget(name: "mirror", dependencies: [http]),
        .executableTarget(name: "events", dependencies: [http]),
        .executableTarget(name: "chat", dependencies: [http]),
        .executableTarget(name: "gallery", dependencies: [http, images]),
        .executableTarget(name: "pinning", dependencies: [http]),
        .executableTarget(name: "archive", dependencies: [http]),
        .executableTarget(name: "proxy", dependencies: [http]),
        .executableTarget(name: "retry", dependencies: [http]),
        // The server that all of them can talk to.
        .executableTarget(name: "server", dependencies: [testServer, images]),
        // A client of your own, and its tests.
        .target(name: "WeatherClient", dependencies: [http]),
        .testTarget(name: "WeatherClientTests", dependencies: ["WeatherClient", http, testServer]),
    ],
    swiftLanguageModes: [.v6]
)
