import math
from dataclasses import replace

import pytest
import torch
from block_samples import SHAPES, random_views, unlabelled, value_and_gradients

from legogcd.bricks import AdaptiveThreshold, LocalEntropy, confident_known
from legogcd.errors import UserError


def softmax(values):
    e = [math.exp(value) for value in values]
    return [value / sum(e) for value in e]


def slow_thresholds(confidence, usage, n_known, floor, strength):
    return [max(floor, confidence * min(1, p / max(usage[:n_known])) ** strength) for p in usage]


def slow_update(views, confidence, usage, momentum):
    rows = [
        softmax([value / 0.1 for value in z])
        for view in views.logits.tolist()
        for z, label in zip(view, views.labels.tolist(), strict=True)
        if label == -1
    ]
    if not rows:
        return confidence, usage
    sure = sum(max(row) for row in rows) / len(rows)
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    kept, new = momentum, 1 - momentum
    return kept * confidence + new * sure, [kept * p + new * mean for p, mean in zip(usage, means, strict=True)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("floor", "strength"), [(0.5, 1.0), (0.0, 1.0), (0.3, 0.5), (0.5, 0.0)])
def test_five_steps_match_a_double_loop(shape, floor, strength):
    threshold = AdaptiveThreshold(floor, strength, momentum=0.6)
    classes = shape[1]
    confidence, usage = max(floor, 1 / classes), [1 / classes] * classes
    for seed in range(5):
        views = random_views(seed, *shape)
        expected = slow_thresholds(confidence, usage, views.n_known, floor, strength)
        assert threshold(views, 0.1).tolist() == pytest.approx(expected, abs=1e-13)
        confidence, usage = slow_update(views, confidence, usage, 0.6)
    assert threshold.confidence.mean.item() == pytest.approx(confidence, abs=1e-14)
    assert threshold.usage.mean.tolist() == pytest.approx(usage, abs=1e-14)


def followed(**arguments):
    threshold = AdaptiveThreshold(momentum=0.5, **arguments)
    for seed in range(6):
        threshold(random_views(seed, images=30))
    return threshold.eval()


def test_without_class_strength_all_classes_have_the_mean_confidence():
    threshold = followed(class_strength=0.0)
    assert threshold(random_views(0)).tolist() == [threshold.confidence.mean.item()] * 5


def test_the_most_predicted_known_class_has_the_mean_confidence_and_no_class_a_higher_one():
    threshold = followed(floor=0.0)
    deltas = threshold(random_views(0))
    assert deltas[:3].max() == threshold.confidence.mean
    assert (deltas <= threshold.confidence.mean).all()
    assert deltas[:3].argmax() == threshold.usage.mean[:3].argmax()


def test_it_rises_as_the_model_becomes_sure():
    threshold = AdaptiveThreshold(momentum=0.5, class_strength=0.0)
    views = unlabelled(random_views(0, images=30))
    deltas = [threshold(replace(views, logits=sharpness * views.logits))[0].item() for sharpness in (1, 1, 2, 4, 8, 8)]
    assert deltas == sorted(deltas)
    assert deltas[0] == 0.5
    assert deltas[-1] > 0.8


@pytest.mark.parametrize("margin", ["paper", None])
@pytest.mark.parametrize("adaptive", [True, False])
def test_nobody_is_sure_enough_during_the_warm_up_which_is_remembered(adaptive, margin):
    threshold = AdaptiveThreshold() if adaptive else 0.7
    brick = LocalEntropy(threshold, margin=margin, warmup_epochs=2)
    sure = unlabelled(random_views(0, images=30))
    sure = replace(sure, logits=10 * sure.logits)
    for epoch, selected in ((0, False), (1, False), (2, True)):
        term = brick(replace(sure, epoch=epoch))
        assert brick.selected.any() == selected
        assert (term > 0) == selected
    if margin:
        assert brick.mean_prediction.max() > 0.2  # uniform no more
    if adaptive:
        assert threshold.confidence.mean.item() == pytest.approx(1 - 0.5 * 0.99**3, abs=2e-3)


def test_labelled_images_do_not_count():
    threshold = AdaptiveThreshold(momentum=0.0)
    threshold(replace(random_views(0), labels=torch.zeros(6, dtype=torch.long)))
    assert threshold.confidence.mean == 0.5
    assert threshold.usage.mean.tolist() == [0.2] * 5


@pytest.mark.parametrize("margin", ["paper", "released", None])
def test_local_entropy_selects_by_it(margin):
    steps = [random_views(seed, images=30) for seed in range(4)]
    own, beside = AdaptiveThreshold(momentum=0.5), AdaptiveThreshold(momentum=0.5)
    brick = LocalEntropy(own, margin=margin, confidence_temperature=0.2)
    for step in steps:
        brick(step)
        assert brick.selected.equal(confident_known(step, beside(step, 0.2), 0.2))
    assert 0 < brick.selected.sum() < 60


def test_a_threshold_that_stays_at_its_floor_is_a_fixed_one():
    views = random_views(1, images=30)
    fixed, adaptive = LocalEntropy(0.6, margin=None), LocalEntropy(AdaptiveThreshold(0.6, momentum=1.0), margin=None)
    for _ in range(3):
        value, _, gradient = value_and_gradients(fixed, views)
        same, _, same_gradient = value_and_gradients(adaptive, views)
        assert same == value
        assert same_gradient.equal(gradient)


def test_no_gradient_passes_through_it():
    views = random_views(7, images=4)
    brick = LocalEntropy(followed(), margin=None).eval()

    def term(logits):
        return brick(replace(views, logits=logits))

    assert torch.autograd.gradcheck(term, views.logits.requires_grad_())
    assert brick.selected.any()


@pytest.mark.parametrize("n_known", [0, 5])
def test_no_known_and_no_new_class(n_known):
    threshold = followed()
    deltas = threshold(replace(unlabelled(random_views(0)), n_known=n_known))
    assert torch.isfinite(deltas).all()


def test_classes_that_are_never_used_stay_finite():
    threshold = AdaptiveThreshold().eval()
    threshold.usage.mean = torch.tensor([0.0, 0.0, 0.0, 1.0, 0.0])
    assert threshold(random_views(0)).tolist() == [0.5] * 5


def test_thresholds_of_the_wrong_number_are_refused():
    with pytest.raises(UserError, match=r"threshold has shape \[3\]; give a number, or one for each of 5 classes"):
        confident_known(random_views(0), torch.full((3,), 0.5))
