"""Start the node, and bring it to active.

ros2 launch infoatlas_ros2 infoatlas.launch.py config:=mobile_base
ros2 launch infoatlas_ros2 infoatlas.launch.py params_file:=/my/params.yaml use_sim_time:=true
"""

from launch.actions import DeclareLaunchArgument, EmitEvent, RegisterEventHandler
from launch.event_handlers import OnProcessStart
from launch.events import matches_action
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import LifecycleNode
from launch_ros.event_handlers import OnStateTransition
from launch_ros.events.lifecycle import ChangeState
from launch_ros.substitutions import FindPackageShare
from lifecycle_msgs.msg import Transition

from launch import LaunchDescription


def generate_launch_description():
    """Describe the launch: one lifecycle node, configured and then activated."""
    config = PathJoinSubstitution(
        [FindPackageShare("infoatlas_ros2"), "config", [LaunchConfiguration("config"), ".yaml"]]
    )
    node = LifecycleNode(
        package="infoatlas_ros2",
        executable="infoatlas_node",
        name="infoatlas",
        namespace=LaunchConfiguration("namespace"),
        parameters=[
            LaunchConfiguration("params_file"),
            {"use_sim_time": LaunchConfiguration("use_sim_time")},
        ],
        output="screen",
    )

    def change(transition):
        return EmitEvent(
            event=ChangeState(lifecycle_node_matcher=matches_action(node), transition_id=transition)
        )

    configure = RegisterEventHandler(
        OnProcessStart(target_action=node, on_start=[change(Transition.TRANSITION_CONFIGURE)])
    )
    activate = RegisterEventHandler(
        OnStateTransition(
            target_lifecycle_node=node,
            start_state="configuring",
            goal_state="inactive",
            entities=[change(Transition.TRANSITION_ACTIVATE)],
        )
    )
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "config",
                default_value="manipulator",
                description="a file of this package's config folder: arrays, manipulator, "
                "mobile_base",
            ),
            DeclareLaunchArgument(
                "params_file", default_value=config, description="parameters of your own"
            ),
            DeclareLaunchArgument("namespace", default_value=""),
            DeclareLaunchArgument("use_sim_time", default_value="false"),
            activate,
            configure,
            node,
        ]
    )
