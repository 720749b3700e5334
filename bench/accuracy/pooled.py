"""Screen in seconds: ``python -m bench.accuracy.pooled --data DIR:KNOWN[:PIXELS] … --cache DIR``.

legogcd+'s losses over *pooled* untrained features (the mean of the map that enters the head convolution: 320 numbers
per view) and one linear layer in place of the tail. An epoch costs a fraction of one over maps, so that an idea can be
tried on a large set before it is tried in earnest; what wins here has to win there again. Three views of each image are
kept: the center, the whole image squeezed into the square, a random crop. Shown are All / Old / New of the unlabelled
images at the start, at the end, and after `settled_centers` has looked for the classes once more among the trained
features' means over views, with the whitening as it was and anew, without and with the move towards neighbors.
"""

import argparse
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional

from bench.accuracy.study import DataSet
from legogcd.clustering import directions, semi_supervised_kmeans
from legogcd.collection import Images
from legogcd.evaluation import clustering_accuracy
from legogcd.methods import build_method, choose_recipe
from legogcd.methods.legogcd_plus import LegoGCDPlus
from legogcd.methods.legogcd_plus.settling import settled_centers
from legogcd.methods.legogcd_plus.whitening import Whitening
from legogcd.training.draw import DRAWS, epoch_generator
from legogcd.training.optimizer import build_optimizer, rate_at, set_rate
from legogcd.vision.backbones import Backbone, load_backbone
from legogcd.vision.views.draw import ViewRule, evaluation_view, load_resized, normalize, random_view

SMALL_PROJECTOR = {"projector_hidden": 512, "projector_out": 128}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.accuracy.pooled", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--data", type=DataSet.read, nargs="+", required=True, metavar="DIR:KNOWN[:PIXELS]")
    parser.add_argument("--backbones", nargs="+", default=["efficientnet-lite0"], help="side by side, if several")
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="of legogcd+'s recipe")
    options = parser.parse_args(arguments)
    options.cache.mkdir(parents=True, exist_ok=True)
    settings = dict(pair.split("=", 1) for pair in options.set)
    for data in options.data:
        for seed in options.seeds:
            trial = Trial(data, options.backbones, options.cache, seed, {"epochs": options.epochs, **settings})
            for stage, scores in trial.run().items():
                print(f"{data.name}, seed {seed}, {stage}: {scores}", flush=True)


class Trial:
    """One training over the pooled features of one set."""

    def __init__(
        self, data: DataSet, backbones: Sequence[str], cache: Path, seed: int, settings: dict[str, object]
    ) -> None:
        collection, truth = data.open()
        self.labels, self.classes = collection.labels, truth.encode(collection)
        self.n_known, self.k, self.seed = collection.n_known, truth.n_classes(collection), seed
        pooled = [kept_pooled(collection.images, data, backbone, cache) for backbone in backbones]
        self.views = torch.cat([functional.normalize(part, dim=-1) for part in pooled], dim=-1)  # [N, V, D]
        self.recipe = choose_recipe("default", "legogcd+", "efficientnet-lite0", {**SMALL_PROJECTOR, **settings})
        torch.manual_seed(seed)
        dim = self.views.shape[-1]
        method = build_method("legogcd+", dim, self.k, self.n_known, self.recipe)
        assert isinstance(method, LegoGCDPlus)
        self.method, self.tail = method, nn.Linear(dim, dim)
        nn.init.eye_(self.tail.weight)
        nn.init.zeros_(self.tail.bias)

    def run(self) -> dict[str, str]:
        """Scores by stage."""
        self.method.start(self.center(), self.labels, self.seed)
        scores = {"start": self.predicted()}
        optimizer = build_optimizer(self.tail, self.method, self.recipe)
        for epoch in range(self.recipe.epochs):
            set_rate(optimizer, rate_at(self.recipe, epoch))
            self.learn(epoch, optimizer)
        scores["trained"] = self.predicted()
        means, center, whitening = self.means(), self.center(), self.method.whitening
        assert whitening is not None
        anew = Whitening(means.shape[1], whitening.out)
        anew.fit(means, self.labels)
        for name, look in (("whitened as before", whitening), ("whitened anew", anew)):
            seen = directions(look.of(means))
            found = semi_supervised_kmeans(seen, self.labels, self.k, seed=self.seed, n_init=10, n_known=self.n_known)
            scores[f"k-means again, {name}"] = self.nearest(look.of(center), found.centers)
            centers = settled_centers(seen, self.labels, self.classes_now(means), self.k, self.n_known, self.seed)
            scores[f"settled, {name}"] = self.nearest(look.of(center), centers)
        return scores

    def learn(self, epoch: int, optimizer: torch.optim.Optimizer) -> None:
        labels, generator, count = torch.from_numpy(self.labels), epoch_generator(self.seed, epoch), self.views.shape[1]
        for batch in DRAWS[self.recipe.batches](labels, self.recipe.batch_size, generator):
            first = torch.randint(count, batch.shape, generator=generator)
            second = (first + torch.randint(1, count, batch.shape, generator=generator)) % count
            pair = torch.stack([self.views[batch, first], self.views[batch, second]])
            step = self.method.step(self.tail(pair), labels[batch], epoch, batch)
            optimizer.zero_grad(set_to_none=True)
            step.loss.backward()
            optimizer.step()

    @torch.no_grad()
    def center(self) -> np.ndarray:
        features: Tensor = self.tail(self.views[:, 0])
        return features.numpy()

    @torch.no_grad()
    def means(self) -> np.ndarray:
        return functional.normalize(self.tail(self.views), dim=-1).mean(1).numpy()

    @torch.no_grad()
    def classes_now(self, features: np.ndarray) -> np.ndarray:
        """The class [N] that the trained prototypes give each of the features."""
        return self.method.logits(torch.from_numpy(features)).argmax(-1).numpy()

    @torch.no_grad()
    def predicted(self) -> str:
        return self.scored(self.method.logits(self.tail(self.views[:, 0])).argmax(-1).numpy())

    def nearest(self, seen: np.ndarray, centers: np.ndarray) -> str:
        return self.scored((directions(seen) @ directions(centers).T).argmax(axis=1))

    def scored(self, predicted: np.ndarray) -> str:
        unlabelled = self.labels < 0
        found = clustering_accuracy(self.classes[unlabelled], predicted[unlabelled], self.n_known)
        return " / ".join(f"{100 * part:.1f}" for part in (found.all, found.old, found.new))


def kept_pooled(images: Images, data: DataSet, backbone: str, cache: Path) -> Tensor:
    """The pooled maps [N, 3, C] of all images, from the cache where they are in it."""
    path = cache / f"pooled-{data.name}-{backbone}-{data.image_size}.npy"
    if not path.exists():
        loaded, rule = load_backbone(backbone, data.image_size), ViewRule(data.image_size)
        with ThreadPoolExecutor(torch.get_num_threads()) as pool:
            rows = list(pool.map(lambda row: _pooled(loaded, rule, images, row), range(len(images))))
        np.save(path, torch.stack(rows).half().numpy())
    return torch.from_numpy(np.load(path)).float()


def _pooled(backbone: Backbone, rule: ViewRule, images: Images, row: int) -> Tensor:
    image = load_resized(images.item(row), rule)
    side = rule.image_size
    squeezed = np.asarray(Image.fromarray(image).resize((side, side), Image.Resampling.BICUBIC))
    views = [evaluation_view(image, rule), squeezed, random_view(image, rule, np.random.default_rng((0, row)))]
    (maps,) = backbone.trunk(normalize(np.stack(views), backbone.mean, backbone.std))
    pooled: Tensor = maps.mean((1, 2))
    return pooled


if __name__ == "__main__":
    main()
