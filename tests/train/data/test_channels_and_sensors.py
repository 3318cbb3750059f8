"""Sides of channels and sensors: the likelihoods are those of the values."""

import pytest
import torch

from infoatlas_train.data import channels, sensors

DRAWS = 1000


def with_noise(centre, mask):
    return channels.observed(centre, mask, centre, mask, 0.0)


def with_levels(centre, mask):
    return channels.observed(centre, mask, centre, mask, 1.0)


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("side", [with_noise, with_levels, *sensors.SIDES])
def test_posteriors_are_as_uncertain_as_they_state(side, d):
    """Each of R draws has the same probability before its value is known, and the values are known.

    Then the error of the posterior mean of any function has the posterior variance, and does not
    depend on the mean.
    """
    torch.manual_seed(4)
    rows, found = torch.arange(DRAWS), []
    for _ in range(4):  # kinds of noise
        centre = torch.nn.functional.pad(torch.randn(4, DRAWS, d), (0, 3 - d))
        mask = (torch.arange(3) < d).float().expand(4, 3)
        shown = side(centre, mask)
        for i in range(4):
            own = []
            share = shown.log_likelihood(i, rows, rows).softmax(1)
            for value in (centre[i, :, 0], centre[i, :, 0].abs(), (2 * centre[i, :, d - 1]).sin()):
                mean = share @ value
                error = value - mean
                variance = share @ value.square() - mean.square()
                for zero in (error.square() - variance, error * (mean - mean.mean())):
                    own.append(zero.mean() / zero.std().clamp(min=1e-6) * DRAWS**0.5)
            found.append(torch.stack(own))
    deviations = torch.stack(found)  # [datasets, statistics], about standard normal
    assert deviations.abs().max() < 5
    assert deviations.mean(0).abs().max() < 4.5 * len(found) ** -0.5
