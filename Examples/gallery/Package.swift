// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Gallery",
    traits: [
        .trait(name: "WebKit", description: "The page about the gallery, in WebKitGTK (libwebkitgtk-6.0-dev)")
    ],
    // In your own package this is the address or the path of your copy.
    dependencies: [
        .package(
            name: "SwiftAF", path: "../..",
            traits: ["GTK", .trait(name: "WebKit", condition: .when(traits: ["WebKit"]))])
    ],
    targets: [
        // What the gallery calls of GTK itself. Any other binding does as well.
        .systemLibrary(name: "CGTK"),
        .target(
            name: "GalleryWindow",
            dependencies: [
                "CGTK",
                .product(name: "SwiftAF", package: "SwiftAF"),
                .product(name: "SwiftAFImage", package: "SwiftAF"),
                .product(name: "SwiftAFGTK", package: "SwiftAF"),
                .product(name: "SwiftAFWebKit", package: "SwiftAF", condition: .when(traits: ["WebKit"])),
                .product(name: "AFTestServer", package: "SwiftAF"),
            ]),
        .executableTarget(name: "gallery", dependencies: ["GalleryWindow"]),
        // Uses the window as a person does: takes its pictures, scrolls through it, and measures.
        .executableTarget(name: "gallery-tour", dependencies: ["GalleryWindow", "CGTK"]),
    ],
    swiftLanguageModes: [.v6]
)
