"""Every constant that was fitted on recorded answers of real models. They change only together with a new measurement.

`python -m benchmarks.selection` prints what these values reach, with intervals, beside the values they were compared to. The
figures in the comments are from the development half of those records; none was fitted on the held-out half.
Above: the rules that use them, here and in `booster`. Below: nothing.
"""

from typing import Final

# When to stop sampling (`verifier.consensus`).
LEAD: Final = 3
"""Votes by which the leader must be ahead. 2 is quick, 4 careful; 3 costs .2 points of accuracy and half of the samples."""
CAP: Final = 20
"""Most samples of a vote."""
FIRST_WAVE: Final = 3
"""Samples of the first wave: the fewest after which the rule can say stop at the default cap and lead."""
WAVE_SIZE: Final = 4
"""Samples of each later wave; 1 where calls must be fewest. 4 costs one sample more and saves most of the rounds."""

# Calibrated confidence (`verifier.calibration`).
SLOPE: Final = 1.5
"""Start of b: agreement says more than its share, since wrong answers scatter."""
LEAST_SLOPE: Final = 0.1
"""More agreement never means less confidence."""
LABELS_NEEDED: Final = 10
"""Labels below which a learnt confidence is not reported."""

# Programs chosen by generated tests (`verifier.combine`).
OVERLAP_POWER: Final = 1.5
"""Exponent of the overlap of two behaviours."""
MASS_POWER: Final = 1.0
"""Exponent of the weight of the passed tests. Neighbours of (1.5, 1) lose up to two points."""
FEW_PROGRAMS: Final = 10
"""Programs below which shares of programs say too little to weigh tests by them."""
ROUND: Final = 10
"""Programs, and checks, of one round."""
STEADY_ROUNDS: Final = 3
"""Rounds that the same behaviour must win in a row; 2 lose 1.5 points."""
ENOUGH_PROGRAMS: Final = 20
"""Programs without which no behaviour counts as settled."""
MOST_PROGRAMS: Final = 100

# One sum (`verifier.combine`, `verifier.opinion`).
VOTE_WEIGHT: Final = 1.25
"""Factor of ln(votes)."""
COPY_WEIGHT: Final = 0.25
"""The same where samples are near-copies of each other: at `COPY_TEMPERATURE` or below."""
COPY_TEMPERATURE: Final = 0.3
PASS_BONUS: Final = 6.0
"""Log odds that a passed executable check adds, and the most it ever adds."""
OPINION_WEIGHT: Final = 0.35
"""Start of every opinion's weight: a scorer that ranks the right one of a pair first in 60 % of pairs."""
OPINION_PRECISION: Final = 4.0
"""Precision of that start: what sixteen undecided pairs one standard deviation apart would weigh."""
OPINION_LIMIT: Final = 0.85
"""Most weight of an opinion with fewer than `OPINION_OUTCOMES` verified outcomes."""
OPINION_OUTCOMES: Final = 20
SCALE_WINDOW: Final = 200
"""Scores of one verifier that its mean and standard deviation are taken from."""
SCALE_NEEDED: Final = 10
"""Scores below which a verifier is standardised within the task."""
SCALE_CLIP: Final = 3.0
"""Standard deviations beyond which a score says no more."""
LEAST_STEP_REWARD: Final = 0.001
"""Floor of a step's reward inside a path: one hopeless step sinks a path, but not below all others."""

# Cheap answers first (`booster.cascade`).
KMAX_ONE_MODEL: Final = 3
"""Most cheap answers of one model before the strong one is asked; at prices of 1 to 20 more never pay."""
KMAX_TWO_MODELS: Final = 2
"""The same for two different cheap models, which agree by chance more seldom."""
AUDIT_RATE: Final = 0.01
"""Share of stops at which the strong model is asked all the same; 5 % already cost more than they teach."""
WRONG_TO_STRONG: Final = 5.0
"""Price of a wrong answer in strong calls, where none is given."""
SETTLING: Final = 20
"""Stops and labels of a pair before which no single answer stands unconfirmed: three lucky agreements would let all that follow
stand, and a stop brings no label that could prove them wrong. A little dearer on the mean over all prices, much better for the
order in ten that this happens to."""
GAIN_SUM: Final = 7.0
GAIN_COUNT: Final = 10.0
"""Prior of the gain: in seven of ten disagreements the strong model is right and the cheap one is not."""
LEAST_GAIN: Final = 0.02
AGREEMENT_COUNT: Final = 2.0
"""Prior of the chance that the next cheap answer agrees: as two drawn answers that agreed in j of j + 1 cases."""

# Risk of a step (`booster.risk`).
RISK_BASE: Final = 0.05
RISK_WRITE: Final = 0.50
RISK_VALUES: Final = 0.20
RISK_ERRORS: Final = 0.10
RISK_FIRST_USE: Final = 0.05
RISK_OUTSIDE: Final = 0.05
RISK_INDEX: Final = 0.05
RISK_LENGTH: Final = 0.20
VALUES_SCALE: Final = 4.0
"""Argument values at which their term has reached 63 % of its weight."""
ERRORS_FULL: Final = 2
INDEX_FULL: Final = 12
"""Errors and steps at which their terms are full."""
