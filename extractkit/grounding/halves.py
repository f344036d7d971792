"""Which half of the day a word or a mark beside a time names: PM, abends, 午後.

Neighbours: `times` asks here for what stands on both sides of a clock. What a word says is sure
where it can mean nothing else there; where it can, both hours are possible.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from extractkit.grounding.months import plain_word

__all__ = ["Half", "Part", "half_after", "half_before", "hours_in"]

Part: TypeAlias = Literal["am", "pm", "noon", "night"]

# Without accents. Those in a second line are other words as well and need one that links them.
_MORNING: Final = (
    "am a.m morning morgens vormittags fruh vormittag matin madrugada mattina mattino ochtends "
    "ochtend voormiddag morgenen formiddag formiddagen morgonen formiddags pagi dini утра утром "
    "ранку сутринта ujutru ujutro ујутру prepodne преподне prijepodne πρωι π.μ בבוקר לפנה״צ "
    'לפנה"צ mati hommikul aamulla aamupaivalla reggel delelott rita ryto dopoledne poludniem '
    "dimineata doobeda zjutraj dopoldne sabah sang ص صباحا oo dop f.m пр.об पूर्वाह्न सुबह "
    "காலை முற்பகல்",
    "morgen rano manana manha morgun",
)
_AFTERNOON: Final = (
    "pm p.m afternoon evening tonight abends nachmittags nachmittag abend apres-midi l'apres-midi "
    "soir pomeriggio noite avonds avond namiddag eftermiddag eftermiddagen aftenen "
    "ettermiddag ettermiddagen kvelden kvallen kvall eftermiddags petang вечера вечером пополудни "
    "вечора увечери следобед вечерта popodne поподне увече uvece poslijepodne navecer απογευμα "
    'βραδυ μ.μ בערב אחה״צ אחה"צ vespre ohtul parastlounal iltapaivalla illalla delutan '
    "vakara vakaro odpoledne poludniu wieczorem wieczor dupa-amiaza popoludni popoldne zvecer "
    "aksam aksami vakare popoludniu stasera vanavond vanmiddag nachm abds "
    "delutani μμ chieu م مساء ptg odp e.m сл.об сл.об अपराह्न शाम பிற்பகல் மாலை",
    "tarde tarde-noche tarda sera seara este aften kveld sore soiree vecer sonra toi ip os ch em p "
    "esti mlm navece",
)
_NOON: Final = (
    "noon midday mittags mittag midi mezzogiorno mediodia meio-dia middags siang дня обяд "
    "μεσημερι בצהריים migdia trua poludnie poledne दोपहर",
    "hari днем",
)
_NIGHT: Final = (
    "night midnight nachts nacht nuit noche notte nachtelijk natten malam ночи ночью ночі нощта "
    "нощта ноћу nocu νυχτα בלילה nit oosel yolla ejjel nakti nakties noaptea ponoci gece gecesi "
    "stanotte vannacht रात இரவு",
    "nat natt noci nocy dem",
)
_TABLE: Final[tuple[tuple[Part, tuple[str, str]], ...]] = (
    ("am", _MORNING),
    ("pm", _AFTERNOON),
    ("noon", _NOON),
    ("night", _NIGHT),
)
_PARTS: Final[Mapping[str, tuple[Part, bool]]] = {
    plain_word(word): (part, not index)
    for part, lines in _TABLE
    for index, line in enumerate(lines)
    for word in line.split()
}
_ENGLISH: Final = frozenset(
    ("morning", "afternoon", "evening", "tonight", "night", "noon", "midday", "midnight")
)
# Each is another word in some language where more follows it: 9:13 em Lisboa.
_TINY: Final = frozenset(("p", "sore", "toi", "ip", "os", "ch", "em", "este", "dem"))
_DIGITS: Final = re.compile(r"\s?\d")
_MORE: Final = re.compile(r"\.?\s{0,2}[^\W_]")
_LINKING: Final = (
    "in the at this of am der de la las del della di da den om pa i av s w po v u a na no pela por "
    "przed през на след по το του της ve ogleden tengah vao luc "
    "uhr o'clock clock h heures heure horas hora uur часов часа час ч годин година ora ore"
)
_FAR_LINKING: Final = (
    "on ce hoje heute esta questa deze сегодня завтра buoi every today tomorrow yesterday "
    "est edt cst cdt mst mdt pst pdt cet cest bst utc gmt "
    "monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun "
)
_FAR: Final = frozenset(map(plain_word, _FAR_LINKING.split()))
"""What links as well, but to no number that is not a time without it: table 9 on Friday evening."""
_LINKS: Final = frozenset((*map(plain_word, _LINKING.split()), "du", *_FAR))
_LEADING: Final = "at um a as las alle om kl klo klockan klokken ob o в о около about around from"
_BEFORE_LINKS: Final = frozenset(map(plain_word, _LEADING.split()))
_NEXT: Final = re.compile(
    r"(?P<gap>[\s(,'\u2019]{0,3})(?P<word>[^\W\d_]+(?:[.'\u2019\u05f4\"-][^\W\d_]+)*)"
)
# Words of a day with its part in them: Montagabend.
_COMPOUND: Final = re.compile("abends?$|nachmittags?$|nachts?$")
_SURE_GAP: Final = " \u00a0\u202f\u2009('\u2019\t"
_REACH: Final = 32
# What is written before the time as a rule, in letters that know no spaces or no case.
_EASTERN: Final[Mapping[Part, str]] = {
    "am": "午前 上午 凌晨 清晨 早上 早晨 朝 未明 오전 아침 새벽",
    "pm": "午後 午后 下午 傍晚 晚上 夕方 晚间 晚間 今晚 오후 저녁",
    "night": "夜里 夜裡 深夜 夜 半夜 밤",
    "noon": "中午 正午 昼 낮",
}
_EAST_ASIAN: Final[Mapping[str, Part]] = {
    word: part for part, words in _EASTERN.items() for word in words.split()
}
_EAST_ASIAN_ENDS: Final = tuple(sorted(_EAST_ASIAN, key=len, reverse=True))
_HUNGARIAN: Final[Mapping[str, tuple[Part, bool]]] = {"du.": ("pm", True), "de.": ("am", True)}
_BEFORE: Final = (
    "am a.m pm p.m reggel delelott delutan ejjel sabah aksam gece oo os π.μ μ.μ पूर्वाह्न अपराह्न "
    "सुबह शाम रात दोपहर காலை மாலை இரவு முற்பகல் பிற்பகல்"
)
_SURE_BEFORE: Final = frozenset(map(plain_word, _BEFORE.split()))


class Half(NamedTuple):
    """What stands beside a time.

    Attributes:
        part: The part of the day.
        at: Where it begins if it stands before the time, else where it ends.
        is_sure: Whether it can mean nothing else.
        is_hour: Whether it makes a time of digits that may be any number.
    """

    part: Part
    at: int
    is_sure: bool
    is_hour: bool


def half_after(text: str, end: int) -> Half | None:
    """Return what is said behind a time that ends at `end`, with up to three words that link."""
    linked = is_far = False
    sure = True
    for _ in range(4):
        match = _NEXT.match(text, end)
        if match is None or match["gap"].count("\n") > 1:
            return None
        word = match["word"]
        if word >= "\u3000":
            return _eastern_after(text, match.start("word"))
        word = word.lower() if word.isascii() else plain_word(word)
        sure = sure and not match["gap"].strip(_SURE_GAP)
        known = _PARTS.get(word)
        # "9 in am" is none, but "am" also links: 9:13 am Abend.
        if known is not None and not (word == "am" and half_after(text, match.end())):
            part, alone = known
            if not linked and word in _TINY and _MORE.match(text, match.end()):
                return None
            is_hour = not is_far and (linked or word not in _ENGLISH)
            end = match.end()
            end += "(" in match["gap"] and text.startswith(")", end)
            return Half(part, end, sure and (linked or alone), is_hour)
        if word not in _LINKS:
            return None
        linked, is_far = True, is_far or word in _FAR
        end = match.end() + text.startswith(".", match.end())
    return None


def _eastern_after(text: str, start: int) -> Half | None:
    """Return what is said in signs behind a time: of the one before digits, of none here."""
    for mark in _EAST_ASIAN_ENDS:
        if len(mark) > 1 and text.startswith(mark, start):
            end = start + len(mark)
            return None if _DIGITS.match(text, end) else Half(_EAST_ASIAN[mark], end, True, True)
    return None


def half_before(text: str, floor: int, start: int) -> Half | None:
    """Return what is said before a time that starts at `start`, but not before `floor`."""
    begin = max(floor, start - _REACH)
    near = text[begin:start]
    if not near.isascii():
        ended = near.rstrip(" (\t\u00a0:\u306e")
        if ended.endswith(_EAST_ASIAN_ENDS):
            mark = next(each for each in _EAST_ASIAN_ENDS if ended.endswith(each))
            return Half(_EAST_ASIAN[mark], begin + len(ended) - len(mark), True, True)
    words = near.rsplit(None, 3)
    if begin > floor and len(words) < 4 and words and not near[0].isspace():
        del words[0]  # it may be cut
    for index, written in enumerate(words[:-4:-1]):
        bare = written.strip("([:,.;")
        word = bare.lower() if bare.isascii() else plain_word(bare)
        known = _PARTS.get(word) or _HUNGARIAN.get(written)
        if known is None and (compound := _COMPOUND.search(word)):
            known = _PARTS[compound.group()]
        if known is not None and bare != "am":  # which begins a day in German
            is_sure = (
                not index
                and written[-1] not in ",;"
                and (word in _SURE_BEFORE or written in _HUNGARIAN)
            )
            return Half(known[0], begin + near.rfind(written), is_sure, False)
        if word not in _BEFORE_LINKS:
            return None
    return None


def hours_in(part: Part, hour: int) -> tuple[int, ...]:
    """Return which hours from 0 to 23 an hour in a part of the day may be."""
    if not 1 <= hour <= 12:
        return (hour,)
    if part == "am":
        return (hour % 12,)
    if part == "pm":
        return (hour % 12 + 12,)
    if part == "night":  # one at night is before dawn, nine at night is not
        return (hour % 12 if hour < 6 or hour == 12 else hour + 12,)
    if hour in (10, 11, 12):
        return (hour,)
    return (hour + 12,) if hour < 7 else (hour, hour + 12)
