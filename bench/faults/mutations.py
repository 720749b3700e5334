"""Wrong files made of right ones: bits flipped, parts cut, doubled, spliced, and what often breaks a reader put in."""

import random

TOKENS = (
    b"",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\r",
    b"\n\n",
    b",",
    b'"',
    b"'",
    b"\\",
    b"{}",
    b"[]",
    b"null",
    b"true",
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"-1",
    b"0",
    b"1.5",
    b"99999999999999999999",
    b"9" * 5000,
    b"[" * 3000,
    b'{"a":' * 3000,
    b'"\\ud800"',
    b"\\u0000",
    b"../../etc/passwd",
    b"/etc/passwd",
    b"%bytes:%",
    b"\x1b[2J",
    b"=1+1",
    b"<script>",
    b"\xff" * 8,
    b"\x7f\xff\xff\xff",
    b"\x80\x00\x00\x00\x00\x00\x00\x00",
    b"A" * 70_000,
)
_NUMBER = b"0123456789.-"


def mutated(content: bytes, chooser: random.Random) -> bytes:
    """One to four changes, each of any kind, anywhere."""
    for _ in range(chooser.choice((1, 1, 1, 2, 3, 4))):
        content = chooser.choice(_KINDS)(content, chooser)
    return content


def _flip(content: bytes, chooser: random.Random) -> bytes:
    changed = bytearray(content or b"\0")
    for _ in range(chooser.choice((1, 1, 2, 8))):
        changed[chooser.randrange(len(changed))] ^= 1 << chooser.randrange(8)
    return bytes(changed)


def _cut(content: bytes, chooser: random.Random) -> bytes:
    return content[: chooser.randrange(len(content) + 1)]


def _leave_out(content: bytes, chooser: random.Random) -> bytes:
    begin, end = _part(content, chooser)
    return content[:begin] + content[end:]


def _double(content: bytes, chooser: random.Random) -> bytes:
    begin, end = _part(content, chooser)
    return content[:end] + content[begin:end] * chooser.choice((1, 1, 3)) + content[end:]


def _splice(content: bytes, chooser: random.Random) -> bytes:
    begin, end = _part(content, chooser)
    place = chooser.randrange(len(content) + 1)
    return content[:place] + content[begin:end] + content[place + end - begin :]


def _insert(content: bytes, chooser: random.Random) -> bytes:
    place = chooser.randrange(len(content) + 1)
    return content[:place] + chooser.choice(TOKENS) + content[place:]


def _replace_word(content: bytes, chooser: random.Random) -> bytes:
    """A token where a number or a quoted word stood: what is left still reads as what it was."""
    place = chooser.randrange(len(content) + 1)
    while place < len(content) and content[place : place + 1] not in (b'"', *(bytes([digit]) for digit in _NUMBER)):
        place += 1
    end = place + 1
    if content[place : place + 1] == b'"':
        end = content.find(b'"', end) + 1 or len(content)
    else:
        while end < len(content) and content[end] in _NUMBER:
            end += 1
    return content[:place] + chooser.choice(TOKENS) + content[end:]


def _part(content: bytes, chooser: random.Random) -> tuple[int, int]:
    begin = chooser.randrange(len(content) + 1)
    return begin, min(len(content), begin + chooser.choice((1, 4, 40, 4000)))


_KINDS = (_flip, _cut, _leave_out, _double, _splice, _insert, _replace_word, _replace_word)
