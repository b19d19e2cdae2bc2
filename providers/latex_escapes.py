r"""Decode what stands between the quotes of a JSON string, without harming LaTeX and Windows paths.

Models often forget to double a backslash. Three of the accidents are silent, because the result is valid JSON: `\frac`
becomes a form feed, `\nu` a line break, `C:\table` a tab. The rules here, each by what a model can have meant:

- `\b` and `\f` are never control characters;
- `\n`, `\r`, `\t` are, unless the letters after the backslash spell a LaTeX command or stand inside a path;
- an escape that JSON does not know keeps its backslash.
"""

import re

_COMMANDS = frozenset(
    # after \n
    "nabla natural ncong ne nearrow neg neq nequiv newcommand newline nexists ngeq ngeqq ngeqslant ngtr ni nleftarrow "
    "nLeftarrow nleftrightarrow nleq nleqq nleqslant nless nmid noindent nolimits nonumber norm normalsize not notag "
    "notin nparallel nprec nrightarrow nRightarrow nsim nsubset nsubseteq nsucc nsupset nsupseteq ntriangleleft "
    "ntriangleright nu nvdash nVdash nwarrow "
    # after \r
    "raisebox rangle rbrace rbrack rceil ref renewcommand rfloor rho right rightarrow rightarrowtail rightharpoondown "
    "rightharpoonup rightleftarrows rightleftharpoons rightsquigarrow risingdotseq rm root rtimes rule rvert rVert "
    # after \t
    "tag tan tanh tau tbinom text textbf textcolor textit textnormal textrm textsc textsf textstyle textsubscript "
    "textsuperscript texttt textwidth tfrac therefore theta thickapprox thicksim thinspace tilde times tiny to top "
    "triangle triangledown triangleleft triangleq triangleright twoheadrightarrow".split()
)
_ALSO_A_LINE_BREAK = frozenset("ne ni nu nexists nless nmid nparallel nsim".split())
"""Commands whose letters after the `n` are a word of some language: `\\ni` may be a line break and the word `i`."""

_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_LETTERS = re.compile(r"[A-Za-z]+")
_FORMULA = re.compile(r"[$^=<>]|_\{|\\[ac-eg-mo-qsv-z][a-z]+")
_PATH = re.compile(
    r"(?:(?<![A-Za-z])[A-Za-z]:(?!\\n[A-Z])|%\w+%|(?<![\\\w])\\\\[\w.$-]+)"  # C:   %TEMP%   \\server
    r"(?:\\(?!\\|u[0-9A-Fa-f]{4})[^\\\s\"*?<>|:]+)+\\?(?!\\)"
)
_PLAIN = {'"': '"', "'": "'", "/": "/", "\\": "\\", "\n": "\n"}
_CONTROL = {"n": "\n", "r": "\n", "t": "\t"}


def decode_escapes(raw: str) -> str:
    """Return the text that the body of a JSON string stands for.

    Args:
        raw: The characters between the quotes, escapes not yet decoded.

    Returns:
        Text without lone surrogates; `raw` itself where it holds no backslash.
    """
    if "\\" not in raw:
        return raw
    paths = [match.span() for match in _PATH.finditer(raw)]
    formula = bool(_FORMULA.search(raw))

    def decode(match: re.Match[str]) -> str:
        at, escape = match.start(), match.group(1)
        if any(start <= at < end for start, end in paths):
            return match.group(0)
        if escape in _PLAIN:
            return _PLAIN[escape]
        if len(escape) == 5:
            return chr(int(escape[1:], 16))
        if escape not in _CONTROL or _is_command(raw, at, formula):
            return match.group(0)
        return "" if escape == "r" and raw.startswith("\\n", match.end()) else _CONTROL[escape]

    return mend_surrogates(_ESCAPE.sub(decode, raw))


def mend_surrogates(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates by U+FFFD, so that the text can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def unescape_once(text: str) -> str:
    r"""Undo one level of escaping in a whole reply: `[\n{\"text\"` becomes a line break and plain quotes."""
    return re.sub(r'\\([\\"/n])', lambda match: "\n" if match.group(1) == "n" else match.group(1), text)


def _is_command(raw: str, at: int, formula: bool) -> bool:
    """Tell whether the letters after the backslash at `at` are a LaTeX command rather than a control character."""
    letters = _LETTERS.match(raw, at + 1)
    name = letters.group() if letters else ""
    if name not in _COMMANDS:
        return False
    if name not in _ALSO_A_LINE_BREAK:
        return True
    before = raw[at - 1 : at]
    if before and before in ".!?;:。！？":
        return False
    return formula or not before or not before.isalnum()
