"""How sure the model was of each value, from the log-probabilities of the tokens that wrote it.

    align       which bytes of the answer each token wrote
    choice      p(value | one of the legal ones), for closed sets, null or a value, list lengths
    sequence    joint probability and weakest token, for texts and numbers
    score       all of it for one answer, by pointers into the user's shape
    agreement   the share of several answers that hold the same value
    majority    one document of the values that most of several answers hold
    early       the same of each value while the answer still comes
    places      the closed sets of an answer, for a model that scores every alternative

Neighbours: `engine` asks for the scores of an answer, `calibration` makes probabilities of being
right out of them. This room never takes a mean, never counts keys or structure, and never puts a
number where there is none: what is not visible becomes bounds, or "unavailable" with the reason.
Probabilities lie in [0, 1], log-probabilities are natural, offsets are bytes of the answer in
UTF-8.
"""

from extractkit.confidence._agreement import agreement
from extractkit.confidence._alignment import Alignment, align
from extractkit.confidence._choice import Choice, choice_probability
from extractkit.confidence._early import Early, NotYet
from extractkit.confidence._exact import ChoicePlace
from extractkit.confidence._majority import majority, nearest
from extractkit.confidence._matching import Option
from extractkit.confidence._score import choice_places, open_values, score
from extractkit.confidence._sequence import Sequence, sequence_probability
from extractkit.confidence._shape import shape_agreement
from extractkit.confidence._weighing import Scores

__all__ = [
    "Alignment",
    "Choice",
    "ChoicePlace",
    "Early",
    "NotYet",
    "Option",
    "Scores",
    "Sequence",
    "agreement",
    "align",
    "choice_places",
    "choice_probability",
    "majority",
    "nearest",
    "open_values",
    "score",
    "sequence_probability",
    "shape_agreement",
]
