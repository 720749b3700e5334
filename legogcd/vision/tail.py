"""The trained end of a backbone: what the trunk leaves for a view goes in, the view's feature comes out.

Only the last block's CLS output is used, so one query attends to tokens that never change. With tokens n_t
(LayerNorm-ed, before its affine γ, β), query q of one head and that head's rows of W_k and W_v:

    score_t   = (γ ⊙ W_kᵀ q) · n_t / √d          what is the same for every t cancels in the softmax
    Σ p_t V_t = W_v (γ ⊙ Σ p_t n_t) + W_v β + b_v

No token meets W_k, W_v, W_o or the MLP: two thin products over the tokens and one-token matrices remain, and the
result is the plain block's to rounding.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from legogcd.vision.attention import attend, softmax
from legogcd.vision.pooled_responses import pooled_responses
from legogcd.vision.views.rows import Rows, dense

State = tuple[Tensor, ...]  # batch-first; what the trunk leaves for the tail
TailInput = tuple[Any, ...]  # the same, its large parts as Rows: still on disk


@dataclass(frozen=True)
class BlockParts:
    """One pre-norm transformer layer, taken apart."""

    norm1: nn.LayerNorm
    query: nn.Linear
    key: nn.Linear
    value: nn.Linear
    out: nn.Linear
    scale1: nn.Module
    norm2: nn.LayerNorm
    mlp: nn.Module
    scale2: nn.Module


@dataclass(frozen=True)
class BlockNames:
    """What a family calls the parts of its layer; layer scales are used where there are any."""

    norm1: str
    attention: str
    out: str
    norm2: str

    def parts(self, block: Any) -> BlockParts:
        attention = getattr(block, self.attention)
        return BlockParts(
            norm1=getattr(block, self.norm1),
            query=attention.q_proj,
            key=attention.k_proj,
            value=attention.v_proj,
            out=getattr(attention, self.out),
            scale1=getattr(block, "layer_scale1", _UNSCALED),
            norm2=getattr(block, self.norm2),
            mlp=block.mlp,
            scale2=getattr(block, "layer_scale2", _UNSCALED),
        )


_UNSCALED = nn.Identity()


class FrozenModeModule(nn.Module):
    """A module whose parts stay in evaluation mode: no dropout, batch statistics as they were trained."""

    def train(self, mode: bool = True) -> "FrozenModeModule":
        super().train(mode)
        for child in self.children():
            child.eval()
        return self


class ViTTail(FrozenModeModule):
    """The last transformer blocks, the very last for the CLS token alone, then the frozen final norm.

    State of one block: CLS residual [N, D], normalised tokens [N, T, D]. Of more: residual tokens [N, T, D].
    The layers are the pretrained model's own modules, so its parameter names are kept below ``blocks``.
    """

    def __init__(self, blocks: Iterable[nn.Module], norm: nn.Module, names: BlockNames, n_heads: int) -> None:
        super().__init__()
        self.blocks, self.norm = nn.ModuleList(blocks), norm.requires_grad_(False)
        self.names, self.n_heads = names, n_heads
        self._freeze_idle()
        self.train(self.training)

    def _freeze_idle(self) -> None:
        """The last block's key bias adds the same to every score of a query: it has no gradient to wait for."""
        key = self.names.parts(self.blocks[-1]).key
        if key.bias is not None:
            key.bias.requires_grad_(False)

    def forward(self, state: TailInput) -> Tensor:
        """Features [N, D]."""
        block = self.names.parts(self.blocks[-1])
        cls, tokens, *grid = self._enter(state, block)
        pooled = self._pool(block, cls, tokens, *grid)  # [N, H, D]
        cls = cls + block.scale1(block.out(self._values(block, pooled)))
        cls = cls + block.scale2(block.mlp(block.norm2(cls)))
        features: Tensor = self.norm(cls)
        return features

    def _enter(self, state: TailInput, last: BlockParts) -> TailInput:
        """The last block's state, through the blocks before it where there are any."""
        dtype = last.norm1.weight.dtype
        if len(self.blocks) == 1:
            cls, *others = state
            return cls.to(dtype), *others
        residual = dense(state[0], dtype)  # [N, T, D]
        for block in self.blocks[:-1]:
            residual = block(residual, attention_mask=None, **self._position(*state[1:]))
        return residual[:, 0], functional.layer_norm(residual, residual.shape[-1:], eps=last.norm1.eps), *state[1:]

    def _position(self, *grid: Any) -> dict[str, Any]:
        return {}

    def _pool(self, block: BlockParts, cls: Tensor, tokens: Tensor | Rows, *grid: Any) -> Tensor:
        """Σ_t p_t n_t by head: cls [N, D], tokens [N, T, D] -> [N, H, D]."""
        query = self._by_head(block.query(block.norm1(cls))) / self._root(block)  # [H, N, d]
        queries = torch.bmm(query, self._rows(block.key, block)).transpose(0, 1)  # [N, H, D]
        return attend(queries, tokens, products_dtype(cls))

    def _values(self, block: BlockParts, pooled: Tensor) -> Tensor:
        """Σ_t p_t V_t of all heads side by side: pooled [N, H, D] -> [N, H·d]."""
        mixed = torch.bmm(pooled.transpose(0, 1), self._rows(block.value, block).transpose(1, 2))  # [H, N, d]
        shift: Tensor = block.value(block.norm1.bias)  # W_v β + b_v
        return mixed.transpose(0, 1).flatten(1) + shift

    def _rows(self, linear: nn.Linear, block: BlockParts) -> Tensor:
        """A projection's matrix by head with the norm's γ multiplied in: [H, d, D]."""
        return (linear.weight * block.norm1.weight).view(self.n_heads, -1, linear.in_features)

    def _by_head(self, vectors: Tensor) -> Tensor:
        """[N, H·d] -> [H, N, d]."""
        return vectors.view(len(vectors), self.n_heads, -1).transpose(0, 1)

    def _root(self, block: BlockParts) -> float:
        return math.sqrt(block.query.out_features / self.n_heads)


class RotaryViTTail(ViTTail):
    """As `ViTTail` for keys turned by their patch's position: they must be made, the values still need not.

    The state ends with the patch grid of each view, (rows, columns) [N, 2].
    """

    def __init__(
        self, blocks: Iterable[nn.Module], norm: nn.Module, names: BlockNames, n_heads: int, rotary: nn.Module
    ) -> None:
        super().__init__(blocks, norm, names, n_heads)
        self.rotary = rotary

    def _freeze_idle(self) -> None:
        """Turned by position, a key bias differs from token to token: nothing is idle."""

    def _position(self, *grid: Any) -> dict[str, Any]:
        return {"position_embeddings": self._angles(*grid)}

    def _pool(self, block: BlockParts, cls: Tensor, tokens: Tensor | Rows, *grid: Any) -> Tensor:
        tokens = dense(tokens, products_dtype(cls))
        n_views, n_tokens, _ = tokens.shape
        query = self._by_head(block.query(block.norm1(cls))).transpose(0, 1)[:, :, None]  # [N, H, 1, d]
        key = functional.linear(tokens, block.key.weight * block.norm1.weight, block.key(block.norm1.bias))
        keys = key.view(n_views, n_tokens, self.n_heads, -1).transpose(1, 2)  # [N, H, T, d]
        cos, sin = self._angles(*grid)  # [N or 1, 1, P, d]
        prefix, patches = keys[:, :, : -cos.shape[2]], keys[:, :, -cos.shape[2] :]
        left, right = patches.chunk(2, dim=-1)
        turned = patches * cos + torch.cat([-right, left], dim=-1) * sin
        scores = torch.cat([query @ part.transpose(2, 3).to(query.dtype) for part in (prefix, turned)], dim=-1)
        weights = softmax((scores / self._root(block)).squeeze(2))  # [N, H, T]
        return torch.bmm(weights.to(tokens.dtype), tokens)

    def _angles(self, grid: Tensor) -> tuple[Tensor, Tensor]:
        """cos and sin of every patch's rotation [N, 1, P, d]; views of the same grid share theirs, [1, 1, P, d]."""
        rotary: Any = self.rotary
        patch, grid = int(rotary.config.patch_size), grid.to(next(self.parameters()).dtype)
        grids, which = torch.unique(grid, dim=0, return_inverse=True)
        of_grids = [
            rotary(grid.new_empty(1).expand(1, 3, int(rows) * patch, int(columns) * patch))
            for rows, columns in grids.tolist()
        ]
        cos, sin = (torch.stack(angles)[:, None] for angles in zip(*of_grids, strict=True))
        return (cos, sin) if len(grids) == 1 else (cos[which], sin[which])


def products_dtype(like: Tensor) -> torch.dtype:
    """The type matrix products run in: autocast's where it is on."""
    kind = like.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else like.dtype


class ConvTail(FrozenModeModule):
    """The last convolution blocks, if any, then head convolution (1×1), batch norm, ReLU6 and the mean over positions.

    State: the map that enters, channels last [N, h, w, C]. Batch norm keeps its statistics; its affine is trained.
    """

    def __init__(self, blocks: Iterable[nn.Module], head: nn.Conv2d, norm: nn.BatchNorm2d) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.head, self.norm = head, norm
        self.train(self.training)

    def forward(self, state: TailInput) -> Tensor:
        """Features [N, D]."""
        (kept,) = state
        dtype = products_dtype(self.head.weight)
        if self.blocks:
            maps = dense(kept, dtype).permute(0, 3, 1, 2)  # [N, C, h, w], channels last in memory
            for block in self.blocks:
                maps = block(maps)
            kept = maps.permute(0, 2, 3, 1)
        norm = self.norm
        assert norm.running_var is not None
        assert norm.running_mean is not None
        scale = norm.weight * torch.rsqrt(norm.running_var + norm.eps)
        weight = self.head.weight.flatten(1) * scale[:, None]  # [D, C]: batch norm is one more factor of the matrix
        return pooled_responses(kept, weight, norm.bias - norm.running_mean * scale, dtype)
