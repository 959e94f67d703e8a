// swift-tools-version: 6.2
import PackageDescription

// Calls of the public API, as a package of its own writes them. Scripts/test-swift-consumer compiles them in three
// ways; nothing runs.
let package = Package(
    name: "Consumer",
    dependencies: [.package(name: "SwiftAF", path: "../..")],
    targets: [
        .target(
            name: "Consumer",
            dependencies: [
                .product(name: "AFTestServer", package: "SwiftAF"), .product(name: "SwiftAF", package: "SwiftAF"),
                .product(name: "SwiftAFFoundation", package: "SwiftAF"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
