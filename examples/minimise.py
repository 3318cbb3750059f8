"""Remove a nuisance from a representation: an encoder that keeps a target and removes a heading.

Eight sensor values mix the target with the heading of the robot. Without a penalty their code is
informative about both. The script needs torch: pip install '.[train]'.

    python examples/minimise.py [--quick] [--plot minimise.png]
"""

import argparse

try:
    import torch

    from infoatlas_train.differentiable import mutual_information
except ModuleNotFoundError as error:
    raise SystemExit(f"{error}: pip install '.[train]'") from error

parser = argparse.ArgumentParser()
parser.add_argument("--quick", action="store_true", help="a few steps")
parser.add_argument("--plot", metavar="FILE", help="picture of the optimisation")
options = parser.parse_args()

torch.manual_seed(0)
target, heading = torch.randn(4000, 1), 6.28 * torch.rand(4000, 1)
around = torch.cat([torch.cos(heading), torch.sin(heading)], 1)
parts = torch.cat([target, around, target * around, torch.randn(4000, 3)], 1)
readings = parts @ torch.randn(8, 8)
traces = {}
for weight in (0.0, 0.5):
    torch.manual_seed(1)
    encoder = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.GELU(), torch.nn.Linear(32, 3))
    head = torch.nn.Linear(3, 1)
    optimiser = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.01)
    traces[weight] = []
    for step in range(4 if options.quick else 150):
        batch = torch.randint(4000, (256,))
        code = encoder(readings[batch])
        error = (head(code) - target[batch]).square().mean()
        mi = mutual_information(code, around[batch], seed=step)
        optimiser.zero_grad()
        (error + weight * mi).backward()
        optimiser.step()
        traces[weight].append((mi.item(), error.item()))
    print(f"weight {weight}: I(code; heading) = {mi.item():.2f} nats, error {error.item():.3f}")

if options.plot:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 1, figsize=(6, 4), sharex=True)
    for colour, (weight, trace) in zip(("#8a95a1", "#1f5f99"), traces.items(), strict=True):
        label = f"error + {weight} I" if weight else "error alone"
        for panel, values in zip(axes, zip(*trace, strict=True), strict=True):
            panel.plot(values, color=colour, label=label)
    axes[0].set(ylabel="I(code; heading), nats")
    figure.legend(loc="upper right", handles=axes[0].lines, ncols=2, frameon=False)
    axes[1].set(ylabel="squared error\nof the target", xlabel="step", yscale="log")
    figure.tight_layout(rect=(0, 0, 1, 0.93))
    figure.savefig(options.plot, dpi=90)
