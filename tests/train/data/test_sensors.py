"""Sensors: labels compared with closed forms, and samples with their distributions."""

import pytest
import torch

from infoatlas_train.data import sensors
from infoatlas_train.data.channels import formula, waves
from infoatlas_train.data.sensors import FUNCTIONS


@pytest.mark.parametrize("kind", [*FUNCTIONS, formula, waves])
def test_functions_are_of_the_coordinates_in_use(kind):
    torch.manual_seed(1)
    u, mask = torch.randn(64, 300, 3), torch.tensor([1.0, 0.0, 1.0]).expand(64, 3)
    values = []
    for scale in ([1.0, 9.0, 1.0], [1.0, 1.0, 1.0], [9.0, 1.0, 1.0]):
        torch.manual_seed(7)
        values.append(kind(u * torch.tensor(scale), mask, 4))
    assert values[0].shape == (64, 300, 4) and values[0].isfinite().all()
    torch.testing.assert_close(values[0], values[1], atol=1e-4, rtol=1e-4)
    assert not torch.allclose(values[2], values[1], atol=0.1)


def test_sources_are_of_length_one_or_sum_to_one():
    torch.manual_seed(3)
    u, mask = torch.randn(2, 50, 3), torch.tensor([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
    u = u * mask[:, None]
    torch.testing.assert_close(sensors.of_length_one(u, mask).norm(dim=2), torch.ones(2, 50))
    shares = sensors.shares(u, mask)
    torch.testing.assert_close(shares[0].sum(1), torch.ones(50))
    torch.testing.assert_close(shares[1], u[1])


def test_vectors_are_turned_like_products_of_complex_numbers():
    angle, a, b = torch.randn(3, 6, 500)
    found = torch.complex(*sensors.turned(a, b, angle))
    torch.testing.assert_close(found, torch.complex(a, b) * torch.exp(1j * angle))


def test_chains_end_where_their_links_lead():
    """The second link is rotated relative to the first."""
    first, second = torch.randn(2, 6, 500)
    lengths = [torch.full((6, 1), 0.5), torch.full((6, 1), 2.0)]
    elbow = 0.5 * torch.exp(1j * first)
    ends = [torch.complex(*end) for end in sensors.ends([first, second], lengths)]
    torch.testing.assert_close(ends[0], elbow)
    torch.testing.assert_close(ends[1], elbow + 2.0 * torch.exp(1j * (first + second)))
