/// One of the images of a view: a picture has one; a button has an image and a background for each state.
public struct ImageSlot: Sendable, Hashable {
    public enum Layer: Sendable, Hashable, CaseIterable {
        case image, background
    }

    /// The states in which a control may look different.
    public enum ControlState: Sendable, Hashable, CaseIterable {
        case normal, highlighted, selected, disabled
    }

    public var layer: Layer
    public var state: ControlState

    public init(_ layer: Layer, _ state: ControlState = .normal) {
        self.layer = layer
        self.state = state
    }

    /// The slot of a picture, and of a button in its normal state.
    public static let image = ImageSlot(.image)
    /// The background of a button in the same state.
    public static let background = ImageSlot(.background)

    public static func image(_ state: ControlState) -> ImageSlot { ImageSlot(.image, state) }
    public static func background(_ state: ControlState) -> ImageSlot { ImageSlot(.background, state) }
}
