#!/usr/bin/env python3
"""scripts/sentences.py [--check] [FOLDER...]: every error sentence that the source has, to be read one by one.

Sentences are what Status::error, Status::invalid and Status::refuse are given, what a thrown exception says, and what
the programs' refuse(), the C ABI's fail() and the extension's raise() say; of Python what `raise` says. Folders are
ridge, apps, capi and python where none is named; tests are left out.

Prints a line for each sentence: FILE:LINE: SENTENCE, and how many other places say the same. What is filled in at run
time stands in braces, {x.dtype}; what depends on a condition in brackets, [one | the other]. Where a function takes a
part of its sentence as an argument, the sentence is listed as each call in the same file makes it.

--check prints those only that break a rule below, and exits with 1 where there are any.
"""

import ast
import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ["apps", "capi", "python", "ridge"]
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:\\\n|[^\n])*'  # dropped: comments, preprocessor
    r'|(?P<string>(?:u8|L|u|U)?(?:R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"))'
    r"|(?P<char>'(?:\\.|[^'\\\n])+')"
    r"|(?P<word>[A-Za-z_]\w*)|(?P<number>\.?\d(?:'?[\w.])*)|(?P<sign>::|->|\+\+|--|<<|&&|\|\||[<>=!+*/-]=|\S)",
    re.S | re.M,
)
PAIRS = {"(": ")", "[": "]", "{": "}"}


class Sentence(NamedTuple):
    file: str
    line: int
    text: str


# ---- tokens of C++ -------------------------------------------------------------------------------------------------


class Token(NamedTuple):
    kind: str
    text: str
    line: int


def tokens_of(source):
    tokens, line, at = [], 1, 0
    for match in TOKEN.finditer(source):
        line, at = line + source.count("\n", at, match.start()), match.start()
        if match.lastgroup:
            kind = "string" if match["string"] else match.lastgroup
            tokens.append(Token(kind, match[0], line))
    return tokens


def closing(tokens, at):
    """The index of the bracket that closes the one at `at`; the end where none does."""
    depth = 0
    for i in range(at, len(tokens)):
        if tokens[i].kind == "sign":
            depth += tokens[i].text in PAIRS
            depth -= tokens[i].text in PAIRS.values()
            if depth == 0:
                return i
    return len(tokens)


def opening(tokens, at):
    depth = 0
    for i in range(at, -1, -1):
        if tokens[i].kind == "sign":
            depth += tokens[i].text in PAIRS.values()
            depth -= tokens[i].text in PAIRS
            if depth == 0:
                return i
    return 0


def parts(tokens, separator):
    """Split at a sign that stands in no brackets."""
    found, part, i = [], [], 0
    while i < len(tokens):
        if tokens[i].kind == "sign" and tokens[i].text in PAIRS:
            end = closing(tokens, i)
            part += tokens[i : end + 1]
            i = end + 1
        elif tokens[i].kind == "sign" and tokens[i].text == separator:
            found.append(part)
            part, i = [], i + 1
        else:
            part.append(tokens[i])
            i += 1
    return [*found, part] if part or found else []


# ---- from an expression to a text ----------------------------------------------------------------------------------


def literal(token):
    text = token.text.lstrip("uUL8")
    if text.startswith("R"):
        return text[text.index("(") + 1 : text.rindex(")")]
    return ast.literal_eval(re.sub(r"\\0(?!\d)", r"\\x00", text))


def placeholder(tokens):
    """What fills in a value, as a reader would name it: std::string(name(x.dtype)) is x.dtype."""
    text = ""
    for token in tokens:
        text += (" " if token.kind == "word" and re.search(r"\w$", text) else "") + token.text
    before = None
    while before != text:
        before = text
        text = re.sub(r"\b(?:std|ridge|fmt|check|npy|fs)::", "", text)
        text = re.sub(r"^(?:string|string_view|to_string|text|name|text_of|size_text|utf8|shown|c_str)\((.*)\)$", r"\1", text)
        text = re.sub(r"(?:\.|->)(?:text|message|string|value|size|c_str|id_text|error|what|get)\(\)", "", text)
        text = re.sub(r"static_cast<[^>]*>\((.*)\)", r"\1", text).removeprefix("*")
    return "{" + text + "}"


def render(tokens):
    """The text that an expression makes."""
    question = parts(tokens, "?")
    if len(question) > 1:
        choices = parts(question[-1], ":")
        for part in reversed(question[1:-1]):  # a ? x : b ? y : z
            choices = [parts(part, ":")[0], *choices]
        texts = [render(choice) for choice in choices]
        if len(texts) > 1:
            return "[" + " | ".join(texts) + "]"
    terms = parts(tokens, "+")
    if len(terms) > 1 and any(token.kind in ("string", "char") for token in tokens):
        return "".join(render(term) for term in terms)
    if tokens and all(token.kind == "string" for token in tokens):
        return "".join(literal(token) for token in tokens)
    if len(tokens) == 1:
        if tokens[0].kind == "number":
            return tokens[0].text
        if tokens[0].kind == "char":
            return ast.literal_eval(tokens[0].text)
    if tokens and tokens[0].text == "(" and closing(tokens, 0) == len(tokens) - 1:
        return render(tokens[1:-1])
    words = "".join(token.text for token in tokens)
    call = re.match(r"(?:std::)?(string|string_view|to_string|move|Twine)[({]", words)
    at = next((i for i, token in enumerate(tokens) if token.text in ("(", "{")), None)
    if at is not None and closing(tokens, at) == len(tokens) - 1:
        inner = tokens[at + 1 : -1]
        if call and len(parts(inner, ",")) == 1:
            return render(inner)
        if words.startswith(("fmt::format(", "format(")):
            pattern, *values = parts(inner, ",")
            return fill(render(pattern), [render(value) for value in values])
        if words.startswith("count_text(") and len(parts(inner, ",")) == 2:
            number, of = parts(inner, ",")
            return f"{render(number)} {render(of)}s"
    return placeholder(tokens)


def fill(pattern, values):
    values = iter(values)
    text = re.sub(r"\{(?:\d*|[a-z_]+)(?::[^{}]*)?\}", lambda _: next(values, "{}"), pattern)
    return text.replace("{{", "{").replace("}}", "}")


def says_something(text):
    """Whether there is more in it than what is filled in: else it passes on another's sentence."""
    return bool(re.search(r"\w", re.sub(r"\{[^{}]*\}", "", text)))


# ---- what is called, and in which function -------------------------------------------------------------------------

INVALID = "{}: {} is {}; it must be {}"


def text_of_call(name, arguments):
    """The sentence that a call says; none where it passes one on."""
    texts = [render(argument) for argument in arguments]
    if name == "Status::invalid" and len(texts) == 4:
        return fill(INVALID, texts)
    if name == "Status::refuse" and len(texts) == 5:
        return fill(INVALID, texts[1:])
    if name in ("Status::error", "raise", "fail") and len(texts) == 2:
        return texts[1]
    if name in ("refuse", "throw") and len(texts) == 1:
        return texts[0]
    return None


def calls_of(tokens):
    """(name, index of the bracket) of each call that may say a sentence."""
    for i, token in enumerate(tokens):
        if i + 1 >= len(tokens) or tokens[i + 1].text not in ("(", "{") or token.kind != "word":
            continue
        before = [t.text for t in tokens[max(0, i - 2) : i]]
        if before == ["Status", "::"] and token.text in ("error", "invalid", "refuse"):
            yield "Status::" + token.text, i + 1
        elif token.text in ("refuse", "raise", "fail") and before[-1:] != ["::"] and tokens[i + 1].text == "(":
            yield token.text, i + 1
        elif "throw" in [t.text for t in tokens[max(0, i - 5) : i]]:
            start = max(j for j in range(max(0, i - 5), i) if tokens[j].text == "throw")
            if all(t.kind == "word" or t.text == "::" for t in tokens[start + 1 : i]):
                yield "throw", i + 1


class Function(NamedTuple):
    name: str
    parameters: list
    first: int
    last: int


def functions_of(tokens):
    """Functions and named lambdas with a body."""
    for i, token in enumerate(tokens):
        if token.text != "{" or token.kind != "sign":
            continue
        j = i - 1
        while j > 0 and (tokens[j].kind == "word" or tokens[j].text in ("::", "->", "<", ">", "*", "&")):
            j -= 1
        if tokens[j].text != ")":
            continue
        start = opening(tokens, j)
        name = tokens[start - 1] if start else None
        if name and name.text == "]":
            before = opening(tokens, start - 1)
            name = tokens[before - 2] if before >= 2 and tokens[before - 1].text == "=" else None
        if not name or name.kind != "word" or name.text in ("if", "for", "while", "switch", "catch"):
            continue
        names = []
        for parameter in parts(tokens[start + 1 : j], ","):
            words = [t.text for t in (parts(parameter, "=") or [[]])[0] if t.kind == "word"]
            names.append(words[-1] if words else "")
        yield Function(name.text, names, i, closing(tokens, i))


class Source:
    """One file of C++, and the sentences in it."""

    def __init__(self, file, text):
        self.file, self.tokens = file, tokens_of(text)
        self.functions = list(functions_of(self.tokens))

    def sentences(self):
        for name, at in calls_of(self.tokens):
            end = closing(self.tokens, at)
            text = text_of_call(name, parts(self.tokens[at + 1 : end], ","))
            if text is None or self.tokens[end + 1 : end + 2] and self.tokens[end + 1].text == "{":
                continue  # a function of that name, which is declared here
            for line, whole in self.as_called(at, text, [name]) or [(self.tokens[at].line, text)]:
                if says_something(whole):
                    yield Sentence(self.file, line, whole)

    def as_called(self, at, text, through):
        """A text that is made at a token, as each call makes it whose arguments are a part of it; none: no call does."""
        inside = [f for f in self.functions if f.first < at < f.last]
        function = max(inside, key=lambda f: f.first, default=None)
        used = [p for p in function.parameters if p and "{" + p + "}" in text] if function else []
        if not used or function.name in through:
            return []
        found = []
        for call, arguments in self.calls_to(function):
            given = {p: render(value) for p, value in zip(function.parameters, arguments) if p in used}
            whole = re.sub(r"\{(\w+)\}", lambda match: given.get(match[1], match[0]), text)
            further = self.as_called(call, whole, [*through, function.name])
            if further:
                found += further
            elif any(says_something(value) for value in given.values()):
                found.append((self.tokens[call].line, whole))
        return found

    def calls_to(self, function):
        for i, token in enumerate(self.tokens[:-1]):
            if token.text != function.name or self.tokens[i + 1].text != "(":
                continue
            end = closing(self.tokens, i + 1)
            arguments = parts(self.tokens[i + 2 : end], ",")
            defined = any(f.name == function.name and end < f.first < end + 8 for f in self.functions)
            if arguments and len(arguments) <= len(function.parameters) and not defined:
                yield i, arguments


# ---- Python --------------------------------------------------------------------------------------------------------


def render_python(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(render_python(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return "{" + ast.unparse(node.value) + "}"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return render_python(node.left) + render_python(node.right)
    if isinstance(node, ast.IfExp):
        return f"[{render_python(node.body)} | {render_python(node.orelse)}]"
    return "{" + ast.unparse(node) + "}"


def sentences_of_python(file, source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            text = render_python(node.exc.args[0])
            if says_something(text):
                yield Sentence(file, node.lineno, text)


# ---- the rules -----------------------------------------------------------------------------------------------------

NAMES = {"Ridge", "DLPack", "NumPy", "PyTorch", "Python", "CuPy"}  # with a capital letter wherever they stand


def faults_of(text):
    """What is wrong with a sentence, by rules that need no reader."""
    if choice := re.search(r"\[([^][]*(?: \| [^][]*)+)\]", text):
        return {f for part in choice[1].split(" | ") for f in faults_of(text.replace(choice[0], part, 1))}
    return set(broken_rules(text))


def broken_rules(text):
    plain = re.sub(r"\{[^{}]*\}", "{}", text)
    words = re.sub(r"'[^']*'|`[^`]*`", "''", plain)
    first = re.match(r"[A-Za-z]+(?!\w*:)", plain)  # not of who says it, "Spec: ..."
    if first and first[0] != first[0].upper() and first[0][0].isupper() and first[0] not in NAMES:
        yield f"begins with a capital letter: {first[0]}"
    if re.search(r"(?<!\.\.)[.!,;:\s]$", plain):
        yield "ends with a point, a comma, a colon or a blank; a sentence of ours ends with its last word"
    if double := re.search(r"\b([a-z]+) \1\b", words):
        yield f"has a word twice: {double[0]}"
    if re.search(r"  |\t|\n", plain):
        yield "has two blanks, a tab or a line's end inside"
    if re.search(r" [;:,.)](?= |$)|\( ", words):
        yield "has a blank before a sign"
    if re.search(r"\b(?:is|are) (?:is|are)\b|must be (?:must|be|is|are|to be|should|not be)\b|must (?:must|is)\b", words):
        yield "has two verbs that meet"
    if re.search(r"must be\s*$|\bis ;", words):
        yield "says nothing where it says what was given or what must be"
    if re.search(r"\ba (?=[aeio][a-z])(?!(?:is|are|as|and|or|of|in|on|at|one|once)\b)|\ban (?=[bcdfgjkpqtvwz][a-z])", words):
        yield "has 'a' where 'an' belongs, or 'an' where 'a' does"


def main():
    arguments = sys.argv[1:]
    if any(argument.startswith("-") and argument != "--check" for argument in arguments):
        sys.exit(__doc__)
    check = "--check" in arguments
    sentences = []
    for folder in [argument for argument in arguments if argument != "--check"] or FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            file = path.relative_to(ROOT).as_posix()
            if re.search(r"(^|/)tests?/|test\.(cpp|cu)$|(^|/)test_\w+\.py$", file):
                continue
            if path.suffix in (".cpp", ".hpp", ".cu", ".cuh"):
                sentences += Source(file, path.read_text()).sentences()
            elif path.suffix == ".py":
                sentences += sentences_of_python(file, path.read_text())
    places = {}
    for sentence in sentences:
        places.setdefault((Path(sentence.file).parent, sentence.text), []).append(sentence)
    wrong = 0
    for (_, text), same in sorted(places.items(), key=lambda item: (item[0][0], item[1][0])):
        faults = sorted(faults_of(text))
        wrong += bool(faults)
        if check and not faults:
            continue
        more = f"   (and {len(same) - 1} more)" if len(same) > 1 else ""
        print(f"{same[0].file}:{same[0].line}: {text}{more}" + "".join(f"\n    {fault}" for fault in faults))
    if check:
        print(f"{len(places)} error sentences, {wrong} of them break a rule")
        sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
