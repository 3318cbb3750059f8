"""Sub-tasks of a running episode over DDS: each message, and the latched one."""

import threading

import numpy as np
from action_msgs.msg import GoalStatus
from harness import LIMIT, START, feed, joint_states, seconds
from infoatlas_msgs.action import WaitFor
from infoatlas_msgs.msg import Subtask
from rclpy.action import ActionClient
from rclpy.qos import DurabilityPolicy, QoSProfile

from episodes import pickcube
from infoatlas_rt import KeyStateTracker
from infoatlas_rt.messages.stream import differs

STEP = 50_000_000
SUCCEEDED, ABORTED = GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_ABORTED
CANCELED = GoalStatus.STATUS_CANCELED
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def expected(task_file, episode):
    """Step, index and progress of each message about an episode, by the library."""
    tracker, reported, found = KeyStateTracker(task_file), None, []
    for step, state in enumerate(episode):
        tracker.push(state, step * STEP * 1e-9)
        if differs(reported, tracker.subtask):
            reported = tracker.subtask
            found.append((step, reported.index, np.float32(reported.progress)))
    return found


def late(bench):
    """The message that a new subscriber receives."""
    got, arrived = [], threading.Event()
    subscription = bench.node.create_subscription(
        Subtask, "/infoatlas/subtask", lambda m: (got.append(m), arrived.set()), LATCHED
    )
    try:
        assert arrived.wait(LIMIT), "nothing is latched"
    finally:
        bench.node.destroy_subscription(subscription)
    return got[0]


def test_the_node_reports_the_sub_task(bench, task_file):
    """Messages equal the library's; a new subscriber receives the newest one; a reset ends it."""
    states, grasps, _ = pickcube()
    bench.up(lag_seconds=0.0, task_file=str(task_file))
    publisher = bench.publisher()
    messages = joint_states(states[40], START, STEP)
    reported = expected(task_file, states[40])
    half = int(grasps[40]) // 2
    feed(publisher, messages[:half])
    before = [message for message in reported if message[0] < half]
    bench.wait(lambda: len(bench.subtasks) >= len(before))
    newest = late(bench)
    assert newest == bench.subtasks[-1]
    assert (newest.index, newest.name, newest.tool) == (0, "reach cube", "tool")
    assert (newest.reference, newest.held, newest.stalled) == ("cube", "", False)
    assert 0.2 < newest.progress < 0.8 and 0 < newest.task_progress < newest.progress

    feed(publisher, messages[half:])
    bench.wait(lambda: len(bench.subtasks) >= len(reported))
    steps = [round((seconds(m.header.stamp) - START * 1e-9) / 0.05) for m in bench.subtasks]
    assert [
        (step, m.index, np.float32(m.progress))
        for step, m in zip(steps, bench.subtasks, strict=True)
    ] == reported
    carried = next(i for i, m in enumerate(bench.subtasks) if m.index == 1)
    assert abs(steps[carried] - grasps[40]) <= 5
    last = late(bench)
    assert (last.name, last.reference, last.held) == ("carry cube to goal", "goal", "cube")
    assert last.progress > 0.9 and last.task_progress > 0.9
    assert {m.subtask for m in bench.keystates} <= {"reach cube", "carry cube to goal"}
    assert bench.keystates and bench.keystates[0].subtask

    assert bench.reset().success
    bench.wait(lambda: bench.subtasks[-1].index == -1)
    assert (late(bench).index, late(bench).tool, late(bench).name) == (-1, "tool", "")

    # While the node is inactive there is no episode, either.
    feed(publisher, messages[:half])
    bench.wait(lambda: bench.subtasks[-1].index == 0)
    assert bench.transition("deactivate")
    bench.wait(lambda: bench.subtasks[-1].index == -1)


def test_a_goal_waits_for_a_sub_task_or_an_outcome(bench, task_file):
    client = ActionClient(bench.node, WaitFor, "/infoatlas/wait_for")

    def get(future):
        arrived = threading.Event()
        future.add_done_callback(lambda _: arrived.set())
        assert arrived.wait(LIMIT), "no answer"
        return future.result()

    def ask(*until, timeout=0.0):
        goal = get(client.send_goal_async(WaitFor.Goal(until=until, timeout=timeout)))
        return goal, goal.get_result_async()

    def answer(goal_and_result):
        found = get(goal_and_result[1])
        return found.status, found.result.reached, found.result.reason

    states, _, _ = pickcube()
    bench.up(lag_seconds=0.0, task_file=str(task_file))
    assert client.wait_for_server(LIMIT)
    status, _, reason = answer(ask("carry"))
    assert status == ABORTED and "choose from ['carry cube to goal', 'done'" in reason
    assert answer(ask(timeout=0.05)) == (ABORTED, "", "not within 0.05 s")
    carried, done, left = ask("carry cube to goal"), ask(), ask("failed")
    publisher = bench.publisher()
    held = np.concatenate([states[40], np.repeat(states[40][-1:], 20, axis=0)])
    feed(publisher, joint_states(held, START, STEP))
    assert answer(carried)[:2] == (SUCCEEDED, "carry cube to goal")
    assert answer(done) == (SUCCEEDED, "done", "the state is that of the end of the task")
    assert answer(ask("done"))[1] == "done"
    get(left[0].cancel_goal_async())
    assert answer(left)[:2] == (CANCELED, "")
    # The next episode is not done because the last one was.
    assert bench.reset().success
    assert answer(ask(timeout=0.05))[0] == ABORTED
    left = ask(timeout=np.inf)
    assert bench.transition("deactivate")
    assert answer(left) == answer(ask()) == (ABORTED, "", "the node is not active")
    client.destroy()
