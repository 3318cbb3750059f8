"""Vector environments that replay recorded episodes, with the infos of ManiSkill or Gymnasium."""

import numpy as np


class ReplayEnv:
    """E environments that replay recorded episodes [T, d], one after the other.

    Parameters
    ----------
    episodes : list of list of [T, d]
        Episodes of each environment.
    layout : {"maniskill", "gymnasium", "next step"}
        How the last observation of an episode is returned: in a batch with the final observations
        of all environments; as one object for each environment; or as the observation itself, with
        the first observation of the next episode in the next step.
    """

    def __init__(self, episodes, layout):
        self.episodes, self.layout, self.num_envs = episodes, layout, len(episodes)

    def reset(self, *, seed=None, options=None):
        rows = (options or {}).get("env_idx", range(self.num_envs))
        if options is None:
            self.which, self.at = np.full(self.num_envs, -1), np.zeros(self.num_envs, int)
        for row in rows:
            self._next_episode(row)
        return self._obs(), {}

    def _next_episode(self, row):
        self.which[row], self.at[row] = (self.which[row] + 1) % len(self.episodes[row]), 0

    def _done(self):
        return np.array(
            [self.at[e] == len(self.episodes[e][self.which[e]]) - 1 for e in range(self.num_envs)]
        )

    def _obs(self):
        return np.stack([self.episodes[e][self.which[e]][self.at[e]] for e in range(self.num_envs)])

    def step(self, actions):
        over = self._done()
        self.at[~over] += 1
        for row in np.flatnonzero(over):  # those that ended in the step before, if not yet reset
            self._next_episode(row)
        done, final, info = self._done(), self._obs(), {}
        if done.any() and self.layout != "next step":
            for row in np.flatnonzero(done):
                self._next_episode(row)
            name = "final_observation"
            if self.layout == "gymnasium":
                name, objects = "final_obs", np.full(self.num_envs, None)
                for row in np.flatnonzero(done):
                    objects[row] = final[row]
                final = objects
            info = {name: final, f"_{name}": done, "final_info": {}, "_final_info": done}
        return self._obs(), np.zeros(self.num_envs), done, np.zeros(self.num_envs, bool), info
