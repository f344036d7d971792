"""The names of the months: in the languages that are always tried, and in one that is asked for.

Neighbours: `dates` looks for numbers beside them. Names are kept without accents.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Final

__all__ = ["Months", "months_of"]

_COMMON: Final = (
    "january jan januar jaenner janvier enero gennaio januari janeiro ene",
    "february feb februar fevrier fevr febrero febbraio februari fevereiro",
    "march mar marz maerz mars marzo maart marco mrz marts maret",
    "april apr avril avr abril aprile abr",
    "may mai mayo maggio mei maio maj",
    "june jun juni juin junio giugno junho",
    "july jul juli juillet juil julio luglio julho",
    "august aug aout agosto augustus ago augusti agustus ogos",
    "september sep sept septembre septiembre settembre setembro",
    "october oct oktober okt octobre octubre ottobre outubro",
    "november nov novembre noviembre novembro",
    "december dec dezember dez decembre diciembre dicembre dezembro dic desember disember",
)
# In other letters, so that they are found at no cost in texts that have none.
_OTHER_LETTERS: Final = (
    "января январь січня януари јануар ιανουαριου",
    "февраля февраль лютого февруари фебруар φεβρουαριου",
    "марта март березня март μαρτιου",
    "апреля апрель квітня април απριλιου",
    "мая май травня мај μαιου",
    "июня июнь червня юни јун ιουνιου",
    "июля июль липня юли јул ιουλιου",
    "августа август серпня август αυγουστου",
    "сентября сентябрь вересня септември септембар σεπτεμβριου",
    "октября октябрь жовтня октомври октобар οκτωβριου",
    "ноября ноябрь листопада ноември новембар νοεμβριου",
    "декабря декабрь грудня декември децембар δεκεμβριου",
)
# Each in the form that stands after a day.
_BY_LANGUAGE: Final = {
    "ca": "gener febrer marc abril maig juny juliol agost setembre octubre novembre desembre",
    "cs": "ledna unora brezna dubna kvetna cervna cervence srpna zari rijna listopadu prosince",
    "et": "jaanuar veebruar marts aprill mai juuni juuli august september oktoober november "
    "detsember",
    "fi": "tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesakuuta heinakuuta elokuuta "
    "syyskuuta lokakuuta marraskuuta joulukuuta",
    "hr": "sijecnja veljace ozujka travnja svibnja lipnja srpnja kolovoza rujna listopada "
    "studenoga prosinca",
    "hu": "januar februar marcius aprilis majus junius julius augusztus szeptember oktober "
    "november december",
    "lt": "sausio vasario kovo balandzio geguzes birzelio liepos rugpjucio rugsejo spalio "
    "lapkricio gruodzio",
    "pl": "stycznia lutego marca kwietnia maja czerwca lipca sierpnia wrzesnia pazdziernika "
    "listopada grudnia",
    "ro": "ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie "
    "noiembrie decembrie",
    "sk": "januara februara marca aprila maja juna jula augusta septembra oktobra novembra "
    "decembra",
    "sl": "januarja februarja marca aprila maja junija julija avgusta septembra oktobra "
    "novembra decembra",
    "tr": "ocak subat mart nisan mayis haziran temmuz agustos eylul ekim kasim aralik",
}
_FOREIGN: Final = re.compile(r"[^\x00-\x7f\d]+")
# Letters that have no accent to be taken off.
_LETTERS: Final = str.maketrans({"\u0131": "i", "\u0142": "l"})


class Months:
    """The months by the names that are looked for in one text."""

    def __init__(self, names: Mapping[str, int]) -> None:
        self._names = {**names, **_numbered(_OTHER_LETTERS)}
        beginnings = sorted({name[:3] for name in names})
        # One branch for each first letter, so that a search is quick.
        self._beginning = re.compile(
            "|".join(
                f"{letter}(?:{'|'.join(name[1:] for name in same)})"
                for letter, same in groupby(beginnings, key=itemgetter(0))
            )
        )

    def number(self, word: str) -> int | None:
        """Return which month `word` names, from 1 to 12; None for none."""
        return self._names.get(word.lower() if word.isascii() else _plain(word))

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
    names = _numbered(_COMMON)
    if language in _BY_LANGUAGE:
        names |= _numbered(tuple(_BY_LANGUAGE[language].split()))
    return Months(names)


def _numbered(lines: tuple[str, ...]) -> dict[str, int]:
    return {_plain(name): number for number, line in enumerate(lines, 1) for name in line.split()}


def _plain(word: str) -> str:
    """Return a word in small letters and without its accents."""
    plain = unicodedata.normalize("NFD", word.casefold().translate(_LETTERS))
    return "".join(char for char in plain if not unicodedata.combining(char))
