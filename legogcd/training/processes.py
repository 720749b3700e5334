"""Several processes that train as one: the one place that gathers. Bricks, methods and heads know nothing of it.

Every process draws the same global batch and takes its part of the images through the tail. `Processes.whole` puts
the parts' features together; from there on every process has the whole batch, so that contrast, mean entropy, running
means, Sinkhorn and pairs are those of one process, and so is the loss.

Behind a gather all processes compute the same and get the same gradient back: each takes its own rows of it, and
nothing is added up. The tail's gradients are parts of the whole one: they are added, not averaged. (Averaging, as
DistributedDataParallel does for losses that are means over each process's own rows, would make them N times too small;
adding in both places N times too large.) What treats every row alone, such as a projector, is done by rows too.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from safetensors.torch import load, save
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.utils.hooks import RemovableHandle

from legogcd import launched

PATIENCE = timedelta(hours=12)  # one process may cluster a million images while the others wait
Made = TypeVar("Made", int, float)


class Processes:
    """One process among ``count``; alone, where it is the only one, and then nothing here costs anything.

    >>> alone = Processes()
    >>> alone.first, alone.part(10), alone.whole(torch.ones(2, 3, 4), 3).shape
    (True, slice(0, 10, None), torch.Size([2, 3, 4]))
    """

    def __init__(self, rank: int = 0, count: int = 1, device: torch.device | str = "cpu") -> None:
        self.rank, self.count, self.device = rank, count, torch.device(device)

    @property
    def first(self) -> bool:
        """Whether this is the one that writes."""
        return self.rank == 0

    def part(self, size: int) -> slice:
        """Which of ``size`` rows are this process's."""
        return slice(*self._bounds(size)[self.rank])

    def whole(self, own: Tensor, size: int) -> Tensor:
        """This process's rows [V, part, D] of a batch and everybody else's, with gradients: [V, size, D]."""
        if self.count == 1:
            return own
        made: Tensor = _Whole.apply(own, self, self._lengths(size))  # type: ignore[no-untyped-call]
        return made

    def own(self, whole: Tensor) -> Tensor:
        """This process's rows [V, part, D] of a batch [V, B, D] that all have; gradients of all rows come back."""
        if self.count == 1:
            return whole
        made: Tensor = _Own.apply(whole, self, self._lengths(whole.shape[1]))  # type: ignore[no-untyped-call]
        return made

    @contextmanager
    def by_rows(self, modules: Iterable[nn.Module]) -> Iterator[None]:
        """Meanwhile each process does its own rows of [V, B, D] in these modules, which treat every row alone."""
        hooks: list[RemovableHandle] = []
        for module in modules if self.count > 1 else ():
            size: list[int] = []

            def take(_: nn.Module, given: tuple[Tensor, ...], size: list[int] = size) -> tuple[Tensor]:
                size[:] = [given[0].shape[1]]
                return (self.own(given[0]),)

            def give(_: nn.Module, __: Any, made: Tensor, size: list[int] = size) -> Tensor:
                return self.whole(made, size[0])

            hooks += [module.register_forward_pre_hook(take), module.register_forward_hook(give)]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    @torch.no_grad()
    def add_gradients(self, modules: Iterable[nn.Module]) -> None:
        """Add up what every process has found for the parameters that saw its rows only."""
        if self.count == 1:
            return
        parameters = [parameter for module in modules for parameter in module.parameters()]
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        for dtype in dict.fromkeys(gradient.dtype for gradient in gradients):
            same = [gradient for gradient in gradients if gradient.dtype == dtype]
            flat = torch.cat([gradient.flatten() for gradient in same])
            dist.all_reduce(flat)
            for gradient, summed in zip(same, torch.split(flat, [each.numel() for each in same]), strict=True):
                gradient.copy_(summed.view_as(gradient))

    def in_turns(self, batches: Callable[[Sequence[int]], Iterator[Tensor]], sizes: Sequence[int]) -> Iterator[Tensor]:
        """Batches [n, D] made by all in turns, all of them in every process and in order.

        ``sizes`` are those of all batches; ``batches`` makes the ones at given places.
        """
        mine = batches(range(self.rank, len(sizes), self.count))
        if self.count == 1:
            yield from mine
            return
        own = next(mine, None)
        width = self.most(0 if own is None else own.shape[1])
        for begin in range(0, len(sizes), self.count):
            lengths = [*sizes[begin : begin + self.count]]
            lengths += [0] * (self.count - len(lengths))
            empty = torch.empty(0, width, device=self.device)
            made = self._gathered(empty if own is None else own.to(self.device), lengths)
            yield from (batch for batch in made if len(batch))
            own = next(mine, None)

    @torch.no_grad()
    def share(self, *modules: nn.Module) -> None:
        """Give every process what the first one's modules hold."""
        if self.count == 1:
            return
        tensors = {f"{place}.{name}": part for place, m in enumerate(modules) for name, part in m.state_dict().items()}
        received = self.sent({name: part.detach().cpu().contiguous() for name, part in tensors.items()})
        for place, module in enumerate(modules if not self.first else ()):
            prefix = f"{place}."
            own = {name.removeprefix(prefix): part for name, part in received.items() if name.startswith(prefix)}
            module.load_state_dict(own)

    @torch.no_grad()
    def share_momentum(self, optimizer: torch.optim.Optimizer) -> None:
        """Give every process the first one's momentum."""
        if self.count == 1:
            return
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        held = {
            str(place): buffer.cpu().contiguous()
            for place, parameter in enumerate(parameters)
            if (buffer := optimizer.state[parameter].get("momentum_buffer")) is not None
        }
        received = self.sent(held)
        for place, momentum in received.items() if not self.first else ():
            parameter = parameters[int(place)]
            laid_out = torch.empty_like(parameter).copy_(momentum)  # in the parameter's own memory layout
            optimizer.state[parameter]["momentum_buffer"] = laid_out

    def agreed(self, number: Made) -> Made:
        """The first process's number, whatever the others have."""
        if self.count == 1:
            return number
        told = torch.tensor([number], dtype=torch.float64, device=self.device)
        dist.broadcast(told, 0)
        return type(number)(told.item())

    def most(self, number: int) -> int:
        """The largest of all processes' numbers."""
        told = torch.tensor([number], device=self.device)
        dist.all_reduce(told, dist.ReduceOp.MAX)
        return int(told.item())

    def _bounds(self, size: int) -> list[tuple[int, int]]:
        return [(size * rank // self.count, size * (rank + 1) // self.count) for rank in range(self.count)]

    def _lengths(self, size: int) -> list[int]:
        return [end - begin for begin, end in self._bounds(size)]

    def _gathered(self, own: Tensor, lengths: Sequence[int]) -> list[Tensor]:
        """Rows of all processes, [length, ...] each; sent padded to the longest, since only equal shapes travel."""
        padded = own.new_zeros(max(lengths), *own.shape[1:])
        padded[: len(own)] = own
        parts = [torch.empty_like(padded) for _ in lengths]
        dist.all_gather(parts, padded)
        return [part[:length] for part, length in zip(parts, lengths, strict=True)]

    def sent(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """The first process's tensors; safetensors' bytes on the way, so that nothing received can run."""
        if self.count == 1:
            return tensors
        content = bytearray(save(tensors)) if self.first else bytearray()
        length = self.agreed(len(content))
        message = torch.empty(length, dtype=torch.uint8, device=self.device)
        if self.first:
            message.copy_(torch.frombuffer(content, dtype=torch.uint8))
        dist.broadcast(message, 0)
        return tensors if self.first else load(message.cpu().numpy().tobytes())


class _Whole(torch.autograd.Function):
    """Rows of all processes; back come the own rows of a gradient that is the same in all of them."""

    @staticmethod
    def forward(ctx: Any, own: Tensor, processes: Processes, lengths: list[int]) -> Tensor:
        ctx.processes, ctx.size = processes, sum(lengths)
        rows = processes._gathered(own.transpose(0, 1).contiguous(), lengths)
        return torch.cat(rows).transpose(0, 1).contiguous()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return gradient[:, ctx.processes.part(ctx.size)].contiguous(), None, None


class _Own(torch.autograd.Function):
    """The own rows; back come the gradients that all processes found for theirs."""

    @staticmethod
    def forward(ctx: Any, whole: Tensor, processes: Processes, lengths: list[int]) -> Tensor:
        ctx.processes, ctx.lengths = processes, lengths
        return whole[:, processes.part(sum(lengths))].contiguous()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        rows = ctx.processes._gathered(gradient.transpose(0, 1).contiguous(), ctx.lengths)
        return torch.cat(rows).transpose(0, 1).contiguous(), None, None


def open_processes(device: torch.device) -> Processes:
    """Join the others, where a launcher has started several: gloo on CPUs, NCCL on GPUs."""
    if not dist.is_initialized():
        if launched.count() == 1:
            return Processes()
        backend = "nccl" if device.type == "cuda" else "gloo"
        dist.init_process_group(backend, timeout=PATIENCE)
    return Processes(dist.get_rank(), dist.get_world_size(), device)
