// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Program",
    dependencies: [.package(path: "../SwiftAF")],
    targets: [
        .executableTarget(name: "Program", dependencies: [.product(name: "SwiftAF", package: "SwiftAF")]),
        .testTarget(
            name: "ProgramTests", dependencies: ["Program", .product(name: "AFTestServer", package: "SwiftAF")]),
    ]
)
