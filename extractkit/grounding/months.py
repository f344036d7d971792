"""The names of the months: in the languages that are always tried, and in one that is asked for.

Neighbours: `dates` looks for numbers beside them. Names are kept without accents.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Final

__all__ = ["Months", "months_elsewhere", "months_of", "plain_word"]

_COMMON: Final = (
    "january jan januar jaenner janner janvier enero gennaio januari janeiro ene",
    "february feb februar fevrier fevr febrero febbraio februari fevereiro",
    "march mar marz maerz mars marzo maart marco mrz marts maret mac",
    "april apr avril avr abril aprile abr",
    "may mai mayo maggio mei maio maj",
    "june jun juni juin junio giugno junho",
    "july jul juli juillet juil julio luglio julho julai",
    "august aug aout agosto augustus ago augusti agustus ogos",
    "september sep sept septembre septiembre settembre setembro",
    "october oct oktober okt octobre octubre ottobre outubro",
    "november nov novembre noviembre novembro",
    "december dec dezember dez decembre diciembre dicembre dezembro dic desember disember",
)
# In other letters, so that they are found at no cost in texts that have none.
_OTHER_LETTERS: Final = (
    "января январь січня січень януари јануар јануара ιανουαριου ιανουαριος ינואר בינואר",
    "февраля февраль лютого лютий февруари фебруар фебруара φεβρουαριου φεβρουαριος פברואר בפברואר",
    "марта март березня березень μαρτιου μαρτιος מרץ במרץ",
    "апреля апрель квітня квітень април априла απριλιου απριλιος אפריל באפריל",
    "мая май травня травень мај маја μαιου μαιος מאי במאי",
    "июня июнь червня червень юни јун јуна ιουνιου ιουνιος יוני ביוני",
    "июля июль липня липень юли јул јула ιουλιου ιουλιος יולי ביולי",
    "августа август серпня серпень αυγουστου αυγουστος אוגוסט באוגוסט",
    "сентября сентябрь вересня вересень септември септембар септембра σεπτεμβριου σεπτεμβριος "
    "ספטמבר בספטמבר",
    "октября октябрь жовтня жовтень октомври октобар октобра οκτωβριου οκτωβριος אוקטובר באוקטובר",
    "ноября ноябрь листопада листопад ноември новембар новембра νοεμβριου νοεμβριος נובמבר בנובמבר",
    "декабря декабрь грудня грудень декември децембар децембра δεκεμβριου δεκεμβριος דצמבר בדצמבר",
)
_OTHER_SHORT: Final = (
    "янв січ ιαν", "февр фев лют φεβ", "мар μαρ", "апр квіт απρ", "трав", "июн черв ιουν",
    "июл лип ιουλ", "авг серп αυγ", "сент сен вер σεπ", "окт жовт οκτ", "нояб ноя νοε",
    "дек груд δεκ",
)  # fmt: skip
# First the form that stands after a day; then, where it differs, the one that stands alone.
_BY_LANGUAGE: Final = {
    "ca": ("gener febrer marc abril maig juny juliol agost setembre octubre novembre desembre",),
    "cs": (
        "ledna unora brezna dubna kvetna cervna cervence srpna zari rijna listopadu prosince",
        "leden unor brezen duben kveten cerven cervenec srpen zari rijen listopad prosinec",
    ),
    "et": (
        "jaanuar veebruar marts aprill mai juuni juuli august september oktoober november "
        "detsember",
    ),
    "fi": (
        "tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesakuuta heinakuuta elokuuta "
        "syyskuuta lokakuuta marraskuuta joulukuuta",
        "tammikuu helmikuu maaliskuu huhtikuu toukokuu kesakuu heinakuu elokuu syyskuu lokakuu "
        "marraskuu joulukuu",
    ),
    "hr": (
        "sijecnja veljace ozujka travnja svibnja lipnja srpnja kolovoza rujna listopada "
        "studenoga prosinca",
        "sijecanj veljaca ozujak travanj svibanj lipanj srpanj kolovoz rujan listopad studeni "
        "prosinac",
    ),
    "hu": (
        "januar februar marcius aprilis majus junius julius augusztus szeptember oktober "
        "november december",
    ),
    "is": ("januar februar mars april mai juni juli agust september oktober november desember",),
    "lt": (
        "sausio vasario kovo balandzio geguzes birzelio liepos rugpjucio rugsejo spalio "
        "lapkricio gruodzio",
        "sausis vasaris kovas balandis geguze birzelis liepa rugpjutis rugsejis spalis lapkritis "
        "gruodis",
    ),
    "lv": (
        "janvaris februaris marts aprilis maijs junijs julijs augusts septembris oktobris "
        "novembris decembris",
        "janvara februara marta aprila maija junija julija augusta septembra oktobra novembra "
        "decembra",
    ),
    "pl": (
        "stycznia lutego marca kwietnia maja czerwca lipca sierpnia wrzesnia pazdziernika "
        "listopada grudnia",
        "styczen luty marzec kwiecien maj czerwiec lipiec sierpien wrzesien pazdziernik listopad "
        "grudzien",
    ),
    "ro": (
        "ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie "
        "noiembrie decembrie",
    ),
    "sk": (
        "januara februara marca aprila maja juna jula augusta septembra oktobra novembra decembra",
        "januar februar marec april maj jun jul august september oktober november december",
    ),
    "sl": (
        "januarja februarja marca aprila maja junija julija avgusta septembra oktobra "
        "novembra decembra",
        "januar februar marec april maj junij julij avgust september oktober november december",
    ),
    "sr": ("januar februar mart april maj jun jul avgust septembar oktobar novembar decembar",),
    "tr": ("ocak subat mart nisan mayis haziran temmuz agustos eylul ekim kasim aralik",),
}
# Short forms that are words in other languages, or names of other months there: with a locale only.
_SHORT: Final = {
    "cs": ("led uno bre dub kve cvn cvc srp zar rij lis pro",),
    "es": ("ene feb mar abr may jun jul ago set oct nov dic",),
    "fi": ("tammi helmi maalis huhti touko kesa heina elo syys loka marras joulu",),
    "fr": ("janv fev mars avr mai juin juil aout sept oct nov dec",),
    "hr": ("sij velj ozu tra svi lip srp kol ruj lis stu pro",),
    "hu": ("jan febr marc apr maj jun jul aug szept okt nov dec",),
    "it": ("gen feb mar apr mag giu lug ago set ott nov dic",),
    "pl": ("sty lut mar kwi maj cze lip sie wrz paz lis gru",),
    "pt": ("jan fev mar abr mai jun jul ago set out nov dez",),
    "ro": ("ian feb mar apr mai iun iul aug sep oct noi dec",),
    "tr": ("oca sub mar nis may haz tem agu eyl eki kas ara",),
}
# Of these, what is tried without one where no other name gives the day.
_UNUSUAL: Final = ("it", "pt", "fr")
_SHY: Final = frozenset(("gen", "mag", "set", "out"))
_FOREIGN: Final = re.compile(r"[^\x00-\x7f\d]+")
# What may touch a name in a text, as a space.
_APART: Final = {code: " " for code in range(128) if not chr(code).isalpha()}
_LONGEST: Final = 12
_NONE: Final[frozenset[int]] = frozenset()
# Letters that have no accent to be taken off.
_LETTERS: Final = str.maketrans({"\u0131": "i", "\u0142": "l"})


class Months:
    """The months by the names that are looked for in one text."""

    def __init__(
        self,
        names: Mapping[str, frozenset[int]],
        *,
        most: int = 3,
        shy: frozenset[str] = frozenset(),
    ) -> None:
        """Keep the names.

        Args:
            names: Without accents, with the months that each may be.
            most: How many letters of a name are looked for: few where most of them stand often.
            shy: Those of them that are other words as well.
        """
        self._names = names
        self._shy = shy
        beginnings = sorted({name[:most] for name in names if name.isascii()})
        # One branch for each first letter, so that a search is quick.
        self._beginning = re.compile(
            "|".join(
                f"{letter}(?:{'|'.join(name[1:] for name in same)})"
                for letter, same in groupby(beginnings, key=itemgetter(0))
            )
        )

    def numbers(self, word: str) -> frozenset[int]:
        """Return which months `word` names, from 1 to 12: several where languages differ."""
        return self._names.get(word.lower() if word.isascii() else plain_word(word), _NONE)

    def number(self, word: str) -> int | None:
        """Return which month `word` names; None for none or several."""
        numbers = self.numbers(word)
        return next(iter(numbers)) if len(numbers) == 1 else None

    def doubt(self, word: str) -> str:
        """Return why a word may not name the month that it names; "" where it does."""
        if len(self.numbers(word)) > 1:
            return f"{word!r} names another month in another language"
        return f"{word!r} may be another word" if word.lower() in self._shy else ""

    def are_named(self, text: str) -> bool:
        """Return whether some month may be named in `text`; quick for ASCII without any."""
        if not text.isascii():
            return True
        return not self._names.keys().isdisjoint(text.lower().translate(_APART).split())

    def may_stand(self, text: str) -> Iterator[int]:
        """Yield offsets so that between two numbers there is one wherever a month's name stands.

        A character beyond ASCII may be a part of one.
        """
        lowered = text.lower()
        if not text.isascii():
            yield from (match.start() for match in _FOREIGN.finditer(text))
            if len(lowered) != len(text):
                lowered = "".join(char.lower() if char < "\x80" else char for char in text)
        yield from (match.start() for match in self._beginning.finditer(lowered))


@cache
def months_of(language: str | None) -> Months:
    """Return the months in the languages that are always tried, and in `language`."""
    names = _named(_COMMON) | _named(_OTHER_LETTERS) | _named(_OTHER_SHORT)
    for table in (_BY_LANGUAGE, _SHORT):
        for line in table.get(language or "", ()):
            names |= _named(tuple(line.split()))
    return Months(names)


@cache
def months_elsewhere(language: str | None) -> Months:
    """Return the months by all further names: those that `months_of` has not."""
    known = months_of(language)
    names: defaultdict[str, frozenset[int]] = defaultdict(frozenset)
    for lines in (*_BY_LANGUAGE.values(), *map(_SHORT.__getitem__, _UNUSUAL)):
        for line in lines:
            for name, numbers in _named(tuple(line.split())).items():
                if not known.numbers(name):
                    names[name] |= numbers
    return Months(dict(names), most=_LONGEST, shy=_SHY)


def _named(lines: tuple[str, ...]) -> dict[str, frozenset[int]]:
    return {
        plain_word(name): frozenset((number,))
        for number, line in enumerate(lines, 1)
        for name in line.split()
    }


def plain_word(word: str) -> str:
    """Return a word in small letters and without its accents."""
    plain = unicodedata.normalize("NFD", word.casefold().translate(_LETTERS))
    return "".join(char for char in plain if not unicodedata.combining(char))
