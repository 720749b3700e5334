"""`legogcd figures`: which figures some runs allow, what they say, and one clear line where nothing can be drawn."""

import json
from collections.abc import Callable
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image
from run_configs import run_config
from safetensors.numpy import load_file

from legogcd.cli.figures import figures
from legogcd.collection import Collection, ImageFiles, Truth
from legogcd.errors import UserError
from legogcd.methods import METHODS
from legogcd.paper.figures import draw_as_printed, draw_figures
from legogcd.paper.figures.curves import spread
from legogcd.paper.figures.style import looks
from legogcd.paper.figures.tsne import apart
from legogcd.run.config import ImagesRecord, write_config
from legogcd.run.figure_sample import choose_sample, write_sample

BIRDS = ("wren", "owl", "lark", "tern", "gull", "crow", "dove", "swan", "kite", "rook", "coot", "ibis")
FINAL = {
    "kmeans": (60.0, 55.0, 64.0, 0),
    "simgcd": (59.0, 64.5, 56.5, 11),
    "simgcd+dkl": (60.2, 67.0, 57.0, 8),
    "simgcd+ler": (61.5, 69.5, 57.4, 4),
    "simgcd+ler+map": (62.3, 70.9, 58.0, 2),
    "legogcd": (63.8, 72.0, 59.5, 0.6),
    "legogcd-released": (63.1, 71.5, 58.8, 1),
}


def write_run(
    folder: Path,
    method: str = "legogcd",
    seed: int = 0,
    epochs: int = 30,
    name: str | None = "CUB-200-2011",
    scored: bool = True,
    images: int = 6000,
    known: tuple[str, ...] = ("wren", "owl", "lark", "tern", "gull", "crow"),
    **recipe: object,
) -> Path:
    """A run folder as a run leaves it, with made-up curves: Old rises, then is forgotten as the method forgets it."""
    folder.mkdir(parents=True)
    used = {"threshold": 0.7, "epochs": epochs, **recipe}
    seen = ImagesRecord(root="/data/birds", count=images, labelled=0)
    write_config(folder, run_config(known, 2 * len(known), method, seed=seed, used=used, images=seen, name=name or ""))
    random = np.random.default_rng([seed, len(method)])
    all_, old, new, lost = FINAL.get(method, FINAL["legogcd"])
    lines = []
    for epoch in [0] if method == "kmeans" else range(1, epochs + 1):
        done = epoch / epochs
        rise = 1 - 0.45 * np.exp(-8 * done)
        noise = random.normal(0, 0.5, 3) + seed * 0.6
        entry: dict[str, object] = {"epoch": epoch, "loss": 3.0, "terms": {}, "selected": {}, "selected_by_step": []}
        if method != "kmeans":
            share = (0.2 + 0.01 * (12 - lost)) * (1 - np.exp(-5 * done))
            entry["selected_by_step"] = [int(256 * share + random.normal(0, 2)) for _ in range(4)]
            entry["selected"] = {"confident_known": sum(entry["selected_by_step"])}
        if scored:
            values = (all_ * rise, (old + 1.25 * lost * (1 - done)) * rise, new * rise)
            parts = zip(("all", "old", "new"), values, noise, strict=True)
            entry |= {part: round(min(max(value + off, 0), 100) / 100, 6) for part, value, off in parts}
        lines.append(json.dumps(entry))
    (folder / "metrics.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder


def add_sample(
    run: Path,
    names: tuple[str, ...] = BIRDS,
    spread: float = 0.6,
    per_class: int = 12,
    sure: float = 5.0,
    logits: bool = True,
) -> Path:
    """Features in a cloud a class, and confidences."""
    random = np.random.default_rng(0)
    n_known = len(names) // 2
    classes = np.repeat(np.arange(len(names)), per_class)
    files = tuple(f"{number}.jpg" for number in range(len(classes)))
    labels = np.where((classes < n_known) & (np.arange(len(classes)) % 2 == 0), classes, -1)
    collection = Collection(ImageFiles(Path("images"), files), labels, names[:n_known])
    truth = Truth({file: names[number] for file, number in zip(files, classes, strict=True)})
    positions = choose_sample(collection, truth)
    centers = random.normal(0, 1, (len(names), 8))
    features = centers[classes[positions]] + random.normal(0, spread, (len(positions), 8))
    confidence = random.beta(sure, 1.2, len(classes))
    logit = confidence[(classes < n_known) & (labels < 0)] * 0.5 + 0.2 if logits else None
    write_sample(run, collection, truth, positions, features, classes, confidence, logit)
    return run


def stems(paths: list[Path]) -> list[str]:
    """The figures' names, each written both as PNG and as SVG."""
    names = [path.stem for path in paths]
    assert sorted(path.name for path in paths) == sorted(
        f"{name}.{end}" for name in set(names) for end in ("png", "svg")
    )
    return sorted(set(names))


def words(path: Path) -> list[str]:
    """The lines of text in an SVG."""
    return ["".join(node.itertext()) for node in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def drawn_of(
    runs: list[Path],
    out: Path,
    note: Callable[[str], None] = lambda line: None,
    draw: Callable[..., Any] = draw_figures,
) -> dict[str, Figure]:
    """The figures by name, without writing pictures."""
    drawn: list[Figure] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
        paths = draw(runs, out, note)
    return {path.stem: figure for path, figure in zip(paths, drawn, strict=True)}


@pytest.fixture
def draw(tmp_path: Path) -> Callable[..., dict[str, Figure]]:
    return lambda runs, note=lambda line: None, draw=draw_figures: drawn_of(runs, tmp_path / "out", note, draw)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A run of SimGCD and one of LegoGCD, with all that figures need."""
    folder = tmp_path_factory.mktemp("two")
    methods = (("simgcd", 2.0), ("legogcd", 6.0))
    return [add_sample(write_run(folder / method, method), sure=sure) for method, sure in methods]


@pytest.fixture(scope="module")
def drawn(two: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Figure]:
    return drawn_of(two, tmp_path_factory.mktemp("drawn"))


def test_two_runs_give_every_figure_as_png_and_svg_titled_and_the_same_each_time(two, tmp_path: Path) -> None:
    said: list[str] = []
    paths = draw_figures(two, tmp_path / "out", said.append)
    curves = ["accuracy-legogcd", "accuracy-simgcd", "components", "old", "selected", "selected-max"]
    assert stems(paths) == sorted([*curves, "tsne", "confidence", "logit"])
    assert said == []
    for path in paths:
        if path.suffix == ".png":
            with Image.open(path) as image:
                assert image.info["dpi"][0] >= 150
                assert len(np.unique(np.asarray(image.convert("L")))) > 20
            continue
        text = " ".join(words(path))
        methods = [path.stem.removeprefix("accuracy-")] if "accuracy" in path.stem else ["simgcd", "legogcd"]
        for part in ("CUB-200-2011", "seed 0", *methods):
            assert part in text, (path.name, part)
    again = draw_figures(two, tmp_path / "again")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in paths]


def test_old_accuracy_tells_the_last_value_and_the_forgetting(two, drawn) -> None:
    texts = " ".join(text.get_text() for text in drawn["old"].findobj(Text))
    for run in two:
        old = [json.loads(line)["old"] for line in (run / "metrics.jsonl").read_text().splitlines()]
        assert f"{run.name} {100 * old[-1]:.1f}\nforgets {100 * (max(old) - old[-1]):.1f}" in texts


def test_selected_counts_are_those_of_a_batch_in_the_log(two, drawn) -> None:
    for run in two:
        entries = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        counts = [entry["selected"]["confident_known"] / len(entry["selected_by_step"]) for entry in entries]
        lines = [list(line.get_ydata()) for line in drawn["selected"].axes[0].lines]
        assert counts in lines
        assert any(bar.get_width() == max(counts) for bar in drawn["selected-max"].axes[0].patches)


@pytest.mark.parametrize("quantity", ["confidence", "logit"])
def test_medians_of_probabilities_and_logits_are_named(two, drawn, quantity: str) -> None:
    for run, axes in zip(two, drawn[quantity].axes, strict=True):
        median = float(np.median(load_file(run / "sample.safetensors")[quantity]))
        assert axes.lines[0].get_xdata()[0] == pytest.approx(median)
        assert f"median {median:.2f}" in [text.get_text() for text in axes.texts]


def test_tsne_shows_the_same_classes_in_the_same_colors_and_tells_known_from_novel(drawn) -> None:
    left, right = drawn["tsne"].axes
    shown = [[tuple(cloud.get_facecolor()[0]) for cloud in axes.collections] for axes in (left, right)]
    assert shown[0] == shown[1]
    assert len(set(shown[0])) == 10
    outlines = [len(cloud.get_paths()[0].vertices) for cloud in left.collections]
    assert outlines[:5] == [outlines[0]] * 5  # ● has a round path, ✚ a cornered one
    assert outlines[5:] == [outlines[5]] * 5
    assert outlines[0] != outlines[5]
    names = [[text.get_text() for text in axes.texts] for axes in (left, right)]
    assert names[0] == names[1]
    assert set(names[0][:5]) < set(BIRDS[:6])
    assert set(names[0][5:]) < set(BIRDS[6:])


@pytest.fixture(scope="module")
def printed(two: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Figure]:
    """The paper's sheets of two data sets; the second has no sample."""
    folder = tmp_path_factory.mktemp("printed")
    cars = [write_run(folder / f"cars-{method}", method, name="Cars") for method in ("simgcd", "legogcd")]
    return drawn_of([*two, *cars], folder / "out", draw=draw_as_printed)


def test_sheets_are_those_of_the_paper(printed) -> None:
    assert set(printed) == {
        *("paper-framework", "paper-data", "paper-old", "paper-selected"),
        *("paper-accuracy-CUB-200-2011", "paper-accuracy-Cars", "components-CUB-200-2011", "components-Cars"),
        "paper-tsne-CUB-200-2011",
    }


def test_the_first_figure_has_both_methods_on_one_scale_and_tells_the_gain_on_old(two, printed) -> None:
    figure = printed["paper-accuracy-CUB-200-2011"]
    left, right = figure.axes
    assert left.get_ylim() == right.get_ylim()
    logs = [[json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()] for run in two]
    for axes, log in zip((left, right), logs, strict=True):
        for part in ("all", "old", "new"):
            curve = [100 * entry[part] for entry in log]
            assert any(
                len(line.get_ydata()) == len(curve) and np.allclose(line.get_ydata(), curve) for line in axes.lines
            )
    gain = 100 * (logs[1][-1]["old"] - logs[0][-1]["old"])
    assert f"Old at the last epoch {gain:+.1f}" in " ".join(text.get_text() for text in figure.texts).replace("\n", " ")


def test_one_sheet_has_old_of_every_data_set(tmp_path: Path, draw) -> None:
    names = [f"set {number}" for number in range(8)]
    runs = [
        write_run(tmp_path / f"{name}-{m}", m, name=name, epochs=3) for name in names for m in ("simgcd", "legogcd")
    ]
    panels = draw(runs, draw=draw_as_printed)["paper-old"].axes
    assert [axes.get_title("left") for axes in panels] == names
    assert {axes.get_subplotspec().get_topmost_subplotspec().get_geometry()[:2] for axes in panels} == {(2, 4)}
    for axes, simgcd, legogcd in zip(panels, runs[::2], runs[1::2], strict=True):
        last = [
            100 * json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])["old"] for run in (simgcd, legogcd)
        ]
        assert axes.get_title("right") == f"{last[0]:.1f} → {last[1]:.1f}"


def test_tsne_has_the_distributions_beside_it(two, printed) -> None:
    left, right, *beside = printed["paper-tsne-CUB-200-2011"].axes
    assert [axes.get_title() for axes in (left, right)] == ["simgcd, seed 0", "legogcd, seed 0"]
    for axes, quantity in zip(beside, ("confidence", "logit"), strict=True):
        medians = [float(np.median(load_file(run / "sample.safetensors")[quantity])) for run in two]
        told = [text.get_text() for text in axes.get_legend().get_texts()]
        assert told == [f"{run.name}, median {median:.2f}" for run, median in zip(two, medians, strict=True)]


def test_sheets_that_runs_do_not_allow_are_told_and_the_illustrations_need_none(tmp_path: Path, draw) -> None:
    said: list[str] = []
    alone = draw([write_run(tmp_path / "legogcd", epochs=2, scored=False)], said.append, draw_as_printed)
    assert set(alone) == {"paper-framework", "paper-data"}
    assert [line.split(":")[0] for line in said] == [
        "no paper-accuracy",
        "no paper-selected",
        "no components",
        "no paper-tsne",
    ]


def test_the_word_paper_lays_out_sheets(two, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures([Path("paper"), *two], tmp_path / "out")
    assert "paper-old.png" in capsys.readouterr().out
    with pytest.raises(UserError, match="no run was given"):
        figures([Path("paper")], tmp_path / "out")


def test_samples_without_logits_are_told_and_the_probabilities_drawn(tmp_path: Path, draw) -> None:
    said: list[str] = []
    drawn = draw([add_sample(write_run(tmp_path / "legogcd", epochs=2), logits=False)], said.append)
    assert "confidence" in drawn
    assert "logit" not in drawn
    assert any(line.startswith("no logits of legogcd") for line in said)


def test_seeds_of_a_method_are_one_line_and_other_settings_are_another(tmp_path: Path, draw) -> None:
    seeds = [write_run(tmp_path / f"seed{seed}", "simgcd", seed=seed, epochs=6) for seed in (0, 1, 2)]
    betas = [write_run(tmp_path / f"beta{beta}", seed=0, epochs=6, beta=beta) for beta in (1, 2)]
    drawn = draw([*seeds, *betas])
    labels = [label.get_text() for label in drawn["selected-max"].axes[0].get_yticklabels()]
    assert labels == ["simgcd", "legogcd (beta 1)", "legogcd (beta 2)"]
    logs = [[json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()] for run in seeds]
    mean = [100 * sum(entry["old"] for entry in entries) / 3 for entries in zip(*logs, strict=True)]
    lines = [line.get_ydata() for line in drawn["old"].axes[0].lines]
    assert any(len(line) == len(mean) and np.allclose(line, mean) for line in lines)
    lost = np.mean([max(old) - old[-1] for old in ([100 * entry["old"] for entry in log] for log in logs)])
    texts = " ".join(text.get_text() for text in drawn["old"].findobj(Text))
    assert f"simgcd {mean[-1]:.1f}\nforgets {lost:.1f} (mean of 3)" in texts
    assert "simgcd (seeds 0-2)" in texts.replace("\n", " ")


def test_the_same_run_twice_is_two_lines_and_one_given_twice_is_one(tmp_path: Path, draw) -> None:
    one, other = write_run(tmp_path / "a/legogcd", epochs=2), write_run(tmp_path / "b/legogcd", epochs=2)
    drawn = draw([one, other, one])
    assert {"accuracy-a-legogcd", "accuracy-b-legogcd"} < set(drawn)
    labels = [label.get_text() for label in drawn["selected-max"].axes[0].get_yticklabels()]
    assert labels == ["legogcd (a-legogcd)", "legogcd (b-legogcd)"]


def test_data_sets_have_their_own_figures_and_bars_side_by_side(tmp_path: Path, draw) -> None:
    said: list[str] = []
    places = [("CUB", "simgcd"), ("CUB", "legogcd"), ("My/Cars", "legogcd")]
    runs = [write_run(tmp_path / name / method, method, name=name, epochs=3) for name, method in places]
    drawn = draw(runs, said.append)
    assert {"old-CUB", "selected-CUB", "selected-My-Cars", "components-CUB", "selected-max"} < set(drawn)
    assert not {"old-My-Cars", "components-My-Cars"} & set(drawn)
    assert [axes.get_title("left") for axes in drawn["selected-max"].axes] == ["CUB", "My/Cars"]
    assert any(line.startswith("no old-My-Cars: ") and "there is 1" in line for line in said)
    assert any(line.startswith("no components-My-Cars: ") for line in said)


def test_runs_that_differ_in_their_known_classes_are_not_compared(tmp_path: Path, draw) -> None:
    runs = [write_run(tmp_path / known[0], epochs=2, known=known) for known in (("a", "b"), ("b", "c"))]
    assert not {"old", "old-CUB-200-2011"} & set(draw(runs))


def test_what_the_runs_do_not_allow_is_said_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write_run(tmp_path / "plain", scored=False, epochs=2, name=None)
    kmeans = write_run(tmp_path / "k", "kmeans", name=None)
    figures([run, kmeans], tmp_path / "out")
    printed = capsys.readouterr()
    assert stems([Path(line) for line in printed.out.splitlines()]) == ["accuracy-k", "selected", "selected-max"]
    assert all(Path(line).is_file() for line in printed.out.splitlines())
    assert printed.err.splitlines() == [
        f"no accuracy-plain: no epoch of {run} was scored; run it with truth",
        "no old: it needs two or more runs on birds with Old accuracies; there is 1",
        "no selected of k: confident known views were not counted",
        "no components: it needs scored runs on birds of two or more of "
        "simgcd, simgcd+dkl, simgcd+ler, simgcd+ler+map, legogcd",
        "no t-SNE and no confidence of k, plain: no sample.safetensors; it is written when truth is given",
    ]
    figures([run, kmeans], tmp_path / "out")
    assert all(line.endswith(" (replaced)") for line in capsys.readouterr().out.splitlines())


def _without_counts(run: Path) -> None:
    entries = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    (run / "metrics.jsonl").write_text("".join(json.dumps({"epoch": entry["epoch"]}) + "\n" for entry in entries))


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda run: (run / "config.json").unlink(), "does not hold a finished run: config.json is missing"),
        (lambda run: (run / "config.json").write_text("{"), "is not a legogcd configuration"),
        (
            lambda run: (run / "config.json").write_text('{"method": "legogcd"}'),
            "is not a configuration this version can read",
        ),
        (lambda run: (run / "metrics.jsonl").write_text(""), "has no finished epoch"),
        (lambda run: (run / "metrics.jsonl").unlink(), "has no finished epoch"),
        (lambda run: (run / "metrics.jsonl").write_text('{"epoch": "x"}\n'), "metrics.jsonl is not what a run writes"),
        (_without_counts, "none of the figures can be drawn: no accuracy-bad: no epoch of"),
        (lambda run: (run / "sample.safetensors").write_bytes(b"?"), "cannot be read as a file of legogcd"),
    ],
)
def test_what_is_no_run_is_one_clear_line(tmp_path: Path, spoil: Callable[[Path], Any], says: str) -> None:
    run = write_run(tmp_path / "bad", epochs=2)
    spoil(run)
    with pytest.raises(UserError) as mistake:
        draw_figures([run], tmp_path / "out")
    assert says in str(mistake.value)
    assert "bad" in str(mistake.value)
    assert "\n" not in str(mistake.value)


def test_an_output_that_cannot_be_is_one_clear_line(tmp_path: Path) -> None:
    run, file = write_run(tmp_path / "run", epochs=2), tmp_path / "file"
    file.write_text("")
    for out in (file, file / "deeper"):
        with pytest.raises(UserError, match="file"):
            draw_figures([run], out)
    with pytest.raises(UserError, match="no run was given"):
        draw_figures([], tmp_path / "out")


def _hard_runs(scene: str, folder: Path) -> list[Path]:
    if scene == "every method":
        names = tuple(f"{number:03d}.A_class_with_a_really_long_name_{number}" for number in range(12))
        runs = [write_run(folder / name, name, epochs=40) for name in FINAL]
        return [*(add_sample(run, names) for run in runs[:3]), *runs[3:]]
    if scene == "one epoch, odd names":
        name = "photos of $birds$ \x07 & <flowers>\nfrom the whole of 2019 to 2024, 鳥 and others"
        return [
            add_sample(write_run(folder / "my run: $1$ / 2", epochs=1, name=name), ("$x$", "<&>", "鳥", "\x07bell"))
        ]
    if scene == "settings":
        return [write_run(folder / str(beta), beta=beta, learning_rate=beta / 10, epochs=3) for beta in (0.25, 0.5, 1)]
    return [
        write_run(folder / f"{method}{seed}", method, seed) for method in ("simgcd", "legogcd") for seed in range(3)
    ]


@pytest.mark.parametrize("layout", [draw_figures, draw_as_printed])
@pytest.mark.parametrize("scene", ["every method", "one epoch, odd names", "settings", "seeds"])
def test_no_text_is_cut_off_and_no_labels_overlap(tmp_path: Path, draw, scene: str, layout: Callable[..., Any]) -> None:
    for name, figure in draw(_hard_runs(scene, tmp_path), draw=layout).items():
        figure.draw_without_rendering()
        canvas = figure.bbox.padded(1)
        for axes in figure.axes:
            labels = [text for text in axes.texts if text.get_text()]
            placed = [(text.get_text(), Text.get_window_extent(text)) for text in [*figure.texts, *labels]]
            for text, box in placed:
                inside = canvas.x0 <= box.x0 <= box.x1 <= canvas.x1 and canvas.y0 <= box.y0 <= box.y1 <= canvas.y1
                assert inside, (name, text)
            for (one, box), (other, beside) in combinations(placed, 2):
                assert not box.overlaps(beside), (name, one, other)


def test_odd_names_leave_valid_pictures_under_safe_names(tmp_path: Path) -> None:
    paths = draw_figures(_hard_runs("one epoch, odd names", tmp_path), tmp_path / "out")
    assert {path.parent for path in paths} == {tmp_path / "out"}
    assert "accuracy-2.svg" in {path.name for path in paths}
    for path in paths:
        if path.suffix == ".svg":
            assert "$birds$" in " ".join(words(path))
    shown = set(words(tmp_path / "out" / "tsne.svg"))
    assert {"$x$", "<&>", "鳥", "bell"} <= shown


def test_every_method_has_a_look_of_its_own_in_color_and_in_grey() -> None:
    methods = [*METHODS, *FINAL, "gcd", "rankstats", "uno", "orca"]
    methods = list(dict.fromkeys(methods))
    found = looks(methods)
    assert len({look.color for look in found}) == len(methods)
    assert len({look.marker for look in found}) == len(methods)
    assert len({str(look.dash) for look in found if look.color != "#7F7F7F"}) == len(methods) - 1
    assert len({look.hatch for look in found}) == len(methods)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-50, 150), st.floats(1, 15)), min_size=1, max_size=6),
)
def test_labels_are_spread_without_overlap_in_order_and_in_bounds(labels: list[tuple[float, float]]) -> None:
    wanted, heights = (np.array(column) for column in zip(*labels, strict=True))
    placed = spread(wanted, heights, 0, 100)
    order = np.argsort(wanted, kind="stable")
    for below, above in pairwise(order):
        assert placed[above] - placed[below] >= (heights[above] + heights[below]) / 2 - 1e-6
    assert (placed - heights / 2).min() >= -1e-6
    assert (placed + heights / 2).max() <= 100 + 1e-6
    apart_already = all(wanted[b] - wanted[a] >= (heights[a] + heights[b]) / 2 for a, b in pairwise(order))
    if apart_already and (wanted - heights / 2).min() >= 0 and (wanted + heights / 2).max() <= 100:
        np.testing.assert_allclose(placed, wanted)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 500), st.floats(0, 500)), min_size=1, max_size=10))
def test_class_names_are_pushed_apart_inside_the_frame(places: list[tuple[float, float]]) -> None:
    sizes = np.full((len(places), 2), (90.0, 18.0))
    moved = apart(np.array(places), sizes, np.array([[0.0, 0.0], [500.0, 500.0]]))
    assert (moved - sizes / 2).min() >= -1
    assert (moved + sizes / 2).max() <= 501
    for one, other in combinations(moved, 2):
        assert (np.abs(one - other) >= sizes[0] - 1e-6).any()
