"""A block of CSV as bytes: where its fields are, which of them are equal, and the numbers they spell. Compiled loops.

Fields are trimmed of blanks. There are no quotes here: a file that has some is read by Python's own ``csv``.
"""

from __future__ import annotations

import numpy as np

from equirl.numerics.compiling import lean_kernel

NEWLINE, RETURN, SPACE, TAB = 10, 13, 32, 9
EXACT_DIGITS, EXACT_POWER = 15, 22  # integers below 10^15 and powers up to 10^22 are exact, so is one operation on them
POWERS = 10.0 ** np.arange(EXACT_POWER + 1)


@lean_kernel
def find_fields(
    data: np.ndarray, delimiter: int, slot: np.ndarray, start: np.ndarray, size: np.ndarray
) -> tuple[int, int]:
    """Where the wanted fields of each line are: ``start[row, slot]`` and ``size[row, slot]``.

    ``slot[c]`` is the place of column c in the result, -1 where it is not wanted. Empty lines are skipped. Returns the
    number of rows, and the first row with too few or too many fields, or -1.
    """
    row, at, end = 0, 0, len(data)
    while at < end:
        column, first, blank = 0, at, True
        while True:
            over = at == end or data[at] == NEWLINE
            if over or data[at] == delimiter:
                low, high = first, at
                while low < high and (data[low] == SPACE or data[low] == TAB):
                    low += 1
                while low < high and (data[high - 1] == SPACE or data[high - 1] == TAB or data[high - 1] == RETURN):
                    high -= 1
                blank = blank and low == high
                if column < len(slot) and slot[column] >= 0:
                    start[row, slot[column]] = low
                    size[row, slot[column]] = high - low
                column += 1
                first = at + 1
                if over:
                    break
            at += 1
        at += 1
        if blank and column == 1:
            continue
        if column != len(slot):
            return row, row
        row += 1
    return row, -1


@lean_kernel
def number_fields(
    data: np.ndarray, start: np.ndarray, size: np.ndarray, table: np.ndarray, first: np.ndarray, code: np.ndarray
) -> int:
    """Number the different texts of a column as they first appear; ``first[n]`` is the row where text n does.

    ``table`` starts at -1; its length is a power of two. Returns how many there are, or -1 where the table is too full.
    """
    n, mask = 0, len(table) - 1
    for row in range(len(code)):
        low, length = start[row], size[row]
        mixed = np.uint64(14695981039346656037)
        for i in range(low, low + length):
            mixed = (mixed ^ np.uint64(data[i])) * np.uint64(1099511628211)
        place = np.int64((mixed ^ (mixed >> np.uint64(29))) & np.uint64(mask))
        while table[place] >= 0:
            other = first[table[place]]
            i = 0
            if size[other] == length:
                while i < length and data[start[other] + i] == data[low + i]:
                    i += 1
            if size[other] == length and i == length:
                break
            place = (place + 1) & mask
        if table[place] < 0:
            if 2 * n >= len(table) or n == len(first):
                return -1
            table[place] = n
            first[n] = row
            n += 1
        code[row] = table[place]
    return n


@lean_kernel
def read_numbers(
    data: np.ndarray, start: np.ndarray, size: np.ndarray, powers: np.ndarray, begin: int, out: np.ndarray
) -> int:
    """Numbers spelled plainly, exactly as ``float`` reads them, from row ``begin`` on.

    Returns the first row that is spelled otherwise (many digits, far exponents, words), or the number of rows.
    """
    for row in range(begin, len(out)):
        at, end = start[row], start[row] + size[row]
        negative = at < end and data[at] == 45
        if at < end and (data[at] == 45 or data[at] == 43):
            at += 1
        digits, power, value, point = 0, 0, 0, False
        while at < end and (48 <= data[at] <= 57 or (data[at] == 46 and not point)):
            if data[at] == 46:
                point = True
            else:
                value = 10 * value + data[at] - 48
                digits += 1
                power -= point
            at += 1
            if digits > EXACT_DIGITS:
                return row
        if digits == 0:
            return row
        if at < end and (data[at] == 101 or data[at] == 69):
            at += 1
            below = at < end and data[at] == 45
            if at < end and (data[at] == 45 or data[at] == 43):
                at += 1
            exponent, some = 0, False
            while at < end and 48 <= data[at] <= 57 and exponent < 1000:
                exponent = 10 * exponent + data[at] - 48
                some = True
                at += 1
            if not some:
                return row
            power += -exponent if below else exponent
        if at < end or power > EXACT_POWER or power < -EXACT_POWER:
            return row
        found = float(value) * powers[power] if power >= 0 else float(value) / powers[-power]
        out[row] = -found if negative else found
    return len(out)
