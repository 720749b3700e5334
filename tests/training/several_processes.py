"""Work for processes that tests start together; a module of its own, so that they can import it."""

import os
import socket
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.multiprocessing
from torch import Tensor, nn

from legogcd.methods import METHODS, PLUG_INS, build_method, method_entry
from legogcd.training.loop import Learner
from legogcd.training.processes import Processes, open_processes

DIM, CLASSES, KNOWN = 12, 9, 5
TRAINED = [name for name in METHODS if method_entry(name).recipe().epochs]
EVERY_METHOD = [*TRAINED, *(f"simgcd:{name}" for name in sorted(PLUG_INS))]


def together(count: int, folder: Path, images: Path) -> list[dict[str, Any]]:
    """What each of ``count`` processes makes of `everything` when they are started together."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(_entered, (count, port, folder, images), nprocs=count)
    return [torch.load(folder / f"{count}-{rank}.pt", weights_only=True) for rank in range(count)]


def _entered(rank: int, count: int, port: int, folder: Path, images: Path) -> None:
    """As a launcher starts processes."""
    torch.set_num_threads(1)
    os.environ.update(WORLD_SIZE=str(count), RANK=str(rank), LOCAL_WORLD_SIZE=str(count), LOCAL_RANK=str(rank))
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.save(everything(open_processes(torch.device("cpu")), folder, images), folder / f"{count}-{rank}.pt")
    torch.distributed.destroy_process_group()


def everything(processes: Processes, folder: Path, images: Path) -> dict[str, Any]:
    return {
        "steps": stepped(processes, 128),
        "uneven steps": stepped(processes, 51),
        "mean square": mean_square(processes),
        "shared": shared_out(processes, 7),
        "one batch": shared_out(processes, 1),
        "settled": settled(processes),
        "run": sorted_photos(processes, folder, images),
    }


def small(method: str) -> dict[str, Any]:
    """Settings under which a method is quick, where it has them."""
    wanted = {
        "projector_hidden": 16,
        "projector_out": 8,
        "head_hidden": 16,
        "head_out": 8,
        "heads": 2,
        "threshold": 0.2,
    }
    fields = method_entry(method).recipe.model_fields
    return {name: value for name, value in wanted.items() if name in fields}


def stepped(processes: Processes, batch: int) -> dict[str, dict[str, Tensor]]:
    """Two steps of each method in float64: losses, terms, gradients and what is remembered, by method."""
    return {name: _stepped(processes, batch, name) for name in EVERY_METHOD}


def _stepped(processes: Processes, batch: int, name: str) -> dict[str, Tensor]:
    torch.manual_seed(0)
    method = build_method(name, DIM, CLASSES, KNOWN, method_entry(name).recipe(**small(name))).double()
    tail = nn.Linear(7, DIM).double()
    random = torch.Generator().manual_seed(1)
    collection = torch.randn(10 * batch, DIM, dtype=torch.float64, generator=random)
    labels = torch.randint(-1, KNOWN, (10 * batch,), generator=random)
    method.before_epoch(0, lambda: iter(collection.split(100)), labels)
    found: dict[str, Tensor] = {}
    by_rows = method.row_by_row()
    for number in range(2):
        states = torch.randn(2, batch, 7, dtype=torch.float64, generator=random)
        labels = torch.randint(-1, KNOWN, (batch,), generator=random)
        index = torch.randperm(10 * batch, generator=random)[:batch]
        own = tail(states[:, processes.part(batch)])
        with processes.by_rows(by_rows):
            step = method.step(processes.whole(own, batch), labels, 40, index)
        step.loss.backward()
        processes.add_gradients([tail, *by_rows])
        found[f"{number} loss"] = step.loss.detach()
        found |= {f"{number} term {term}": value.detach() for term, value in step.terms.items()}
        found |= {f"{number} selected {brick}": value.double() for brick, value in step.selected.items()}
        for owner, module in (("tail", tail), ("method", method)):
            for parameter, tensor in module.named_parameters():
                if tensor.grad is not None:
                    found[f"{number} gradient {owner}.{parameter}"] = tensor.grad.clone()
                    tensor.grad = None
    return found | {f"buffer {buffer}": tensor.clone() for buffer, tensor in method.named_buffers()}


def mean_square(processes: Processes, batch: int = 10) -> dict[str, Tensor]:
    """The gradient of mean (w·x)² over a batch with w = 3, and this process's part of it."""
    x = torch.linspace(-1, 1, batch, dtype=torch.float64)
    tail = nn.Linear(1, 1, bias=False).double()
    nn.init.constant_(tail.weight, 3.0)
    own = tail(x[None, processes.part(batch), None])
    processes.whole(own, batch).square().mean().backward()
    assert tail.weight.grad is not None
    part = tail.weight.grad.clone()
    processes.add_gradients([tail])
    return {"part": part, "gradient": tail.weight.grad}


def shared_out(processes: Processes, batches: int) -> dict[str, Any]:
    """Batches made in turns, numbers agreed on, and modules and momentum handed on by the first."""
    sizes = [4, 4, 4, 4, 4, 4, 3][:batches]
    made = processes.in_turns(lambda places: (torch.full((sizes[p], 2), float(p)) for p in places), sizes)
    torch.manual_seed(processes.rank)
    module = nn.Linear(3, 2).to(memory_format=torch.contiguous_format)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
    module(torch.ones(1, 3)).sum().backward()
    if processes.first:
        optimizer.step()
    processes.share(module)
    processes.share_momentum(optimizer)
    momentum = [optimizer.state[parameter]["momentum_buffer"] for parameter in module.parameters()]
    return {
        "turns": torch.cat(list(made)),
        "agreed": processes.agreed(processes.rank + 7),
        "module": module.state_dict(),
        "momentum": momentum,
    }


class Undecided(Learner):
    """A learner that needs no images."""

    def features(self, views: Any, positions: Any = None) -> np.ndarray:
        return np.zeros((2, 3), np.float32)


def settled(processes: Processes) -> dict[str, Any]:
    """Which processes decided a start, such as k-means finds, and what it is everywhere after that."""
    method, asked = nn.Linear(1, 1, bias=False), []

    def decide(*_: Any) -> None:
        asked.append(processes.rank)
        nn.init.constant_(method.weight, float(processes.rank + 5))

    learner: Any = Undecided(nn.Identity(), method, None, processes)  # type: ignore[arg-type]
    learner.settle(decide, None, np.arange(2), np.zeros(2, np.int64), 0)
    return {"asked": asked, "start": method.weight.detach().item()}


def sorted_photos(processes: Processes, folder: Path, images: Path) -> dict[str, Any]:
    """A short run on the default backbone: what was learned, and how it scored."""
    from legogcd.collection import find_images, from_folders
    from legogcd.evaluation import scoring
    from legogcd.run import Job, discover
    from legogcd.run.options import RunOptions

    collection, truth = from_folders(find_images(images), ["0", "1", "2"])
    options = RunOptions(
        n_classes=6, epochs=2, image_size=64, cache=folder / f"cache-{processes.count}", threads=1, device="cpu"
    )
    out = folder / f"run-{processes.count}"
    outcome = discover(Job(collection, options.changed(settings={"batch_size": 32})), out, score=scoring(truth))
    tensors = {**outcome.model.backbone.tail.state_dict(), **outcome.model.method.state_dict()}
    scores = [[entry[part] for part in ("all", "old", "new")] for entry in outcome.metrics]
    return {"tensors": tensors, "scores": scores, "predicted": torch.from_numpy(outcome.discovery.predicted)}
