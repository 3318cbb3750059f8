"""Messages of rosbags and their schemas, for tests of the runtime, which has no bags."""

from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from infoatlas_rt.messages.schema import FieldType, Schema

STORE = get_typestore(Stores.ROS2_JAZZY)
for kind, text in {
    "lab_msgs/msg/Models": "string[] name\ngeometry_msgs/Point[] place",
    "lab_msgs/msg/Marker": "int32 id\nfloat64 x",
    "lab_msgs/msg/Markers": "lab_msgs/Marker[] markers",
    "lab_msgs/msg/Grip": "float32[3] force\nbool[] contacts\nint64 count\n"
    "geometry_msgs/Point[2] ends\nbyte raw",
}.items():
    STORE.register(get_types_from_msg(text, kind))
T = STORE.types
START = 1_700_000_000
TF, POSE = "tf2_msgs/msg/TFMessage", "geometry_msgs/msg/PoseStamped"
X = "transforms[child_frame_id=tool0].transform.translation.x"
TURN = T["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)


def schema(name):
    """The definition of a type."""

    def lookup(wanted):
        return {
            field: field_type(*description) for field, description in STORE.fielddefs[wanted][1]
        }

    return Schema(name, lookup)


def field_type(kind, value):
    if kind.name in ("ARRAY", "SEQUENCE"):
        base, length = value
        return FieldType(field_type(*base).base, length if kind.name == "ARRAY" else 0)
    return FieldType(value if kind.name == "NAME" else value[0])


def header(frame="", time=0.0):
    nanoseconds = round(1e9 * time)
    stamp = T["builtin_interfaces/msg/Time"](START + nanoseconds // 10**9, nanoseconds % 10**9)
    return T["std_msgs/msg/Header"](stamp, frame)


def point(x):
    return T["geometry_msgs/msg/Point"](float(x), 0.0, 0.0)


def transform(child, x, time=0.0, parent="map"):
    move = T["geometry_msgs/msg/Transform"](
        T["geometry_msgs/msg/Vector3"](float(x), 0.0, 0.0), TURN
    )
    return T["geometry_msgs/msg/TransformStamped"](header(parent, time), child, move)


def tf(*transforms):
    return T[TF]([*transforms])


def pose(frame, x, time=0.0):
    return T[POSE](header(frame, time), T["geometry_msgs/msg/Pose"](point(x), TURN))


def alternating(count, children=("cube", "tool0")):
    """The second child moves by 1 per message, the others stay at 100."""
    return [
        tf(transform(child, i if child == children[1] else 100, i / 100))
        for i in range(count)
        for child in children
    ]
