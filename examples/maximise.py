"""Learn what two sensors have in common: linear encoders of both that maximise mutual information.

One of the four sources of sensor x is a swing. One of the sources of sensor y is the square of the
swing, with noise. The two are uncorrelated, so linear methods do not find them. The script needs
torch: pip install '.[train]'.

    python examples/maximise.py [--quick] [--plot maximise.png]
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
swing = torch.randn(4000, 1)
x_sources = torch.cat([swing, torch.randn(4000, 3)], 1)
y_sources = torch.cat([swing**2 + 0.2 * torch.randn(4000, 1), torch.randn(4000, 3)], 1)
x = x_sources @ torch.randn(4, 4)
y = y_sources @ torch.randn(4, 4)

encoders = torch.nn.ModuleList(torch.nn.Linear(4, 1) for _ in range(2))
optimiser = torch.optim.Adam(encoders.parameters(), lr=0.1)
trace, found = [], []
for step in range(10 if options.quick else 100):
    batch = torch.randint(4000, (256,))
    codes = [encoder(side[batch]) for encoder, side in zip(encoders, (x, y), strict=True)]
    mi = mutual_information(*codes, seed=step)
    optimiser.zero_grad()
    (-mi).backward()
    optimiser.step()
    trace.append(mi.item())
    with torch.no_grad():  # how well the code of x recovers the swing
        found.append(torch.corrcoef(torch.cat([encoders[0](x), swing], 1).T)[0, 1].abs().item())
    if step % 10 == 0:
        print(f"step {step}: I = {mi.item():.2f} nats, correlation with the swing {found[-1]:.2f}")

sources = mutual_information(x_sources[:256, :1], y_sources[:256, :1]).item()
print(f"from {trace[0]:.2f} to {trace[-1]:.2f} nats; of the sources themselves: {sources:.2f}")

if options.plot:
    from matplotlib import pyplot

    figure, (above, below) = pyplot.subplots(2, 1, figsize=(6, 4), sharex=True)
    above.plot(trace, color="#1f5f99", label="codes, batches of 256")
    above.axhline(sources, color="#e08a00", linestyle="--", label="sources")
    above.set(ylabel="I(code x; code y), nats")
    above.legend(frameon=False)
    below.plot(found, color="#1f5f99")
    below.set(ylabel="|correlation| of code x\nwith the swing", xlabel="step", ylim=(0, 1.05))
    figure.tight_layout()
    figure.savefig(options.plot, dpi=90)
