"""SEG in plain Python, from the paper of Wootton and Federhen (1993) and the behaviour of NCBI's segmasker.

The native version (native/masking/seg.cpp) keeps everything in integers and looks at less; this one recounts every
window. A window has a *state*: the numbers of its residues of each kind, largest first.
"""

from math import lgamma, log

STANDARD = "ACDEFGHIKLMNPQRSTVWY"
MAX_TRIM = 50
MAX_UNKNOWN = 2
"""A window with more letters than this that are none of the 20 has no entropy."""


def seg(sequence, window=12, locut=2.2, hicut=2.5):
    """The stretches as (begin, end), 0-based and half-open, in order; none overlaps or touches another."""
    found = [(first, last + 1) for first, last in sorted(segments(sequence, window, locut, hicut))]
    return merged(found)


def segments(sequence, window, locut, hicut):
    """Stretches as (first, last), in the order of segmasker; some may overlap."""
    before = (window + 1) // 2 - 1
    after = window - before
    entropies = window_entropies(sequence, window, before)
    last = len(sequence) - after
    found = []
    limit = i = before
    while i <= last:
        if entropies[i] is not None and entropies[i] <= locut:
            low = high = i
            while low - 1 >= limit and is_low(entropies[low - 1], hicut):
                low -= 1
            while high + 1 <= last and is_low(entropies[high + 1], hicut):
                high += 1
            first, end = low - before, high + after
            left, right = trimmed(sequence[first:end])
            begin, final = first + left, first + right
            if i + after - 1 < begin:  # the window that began this stretch was trimmed away: it may hold another
                found += [(first + a, first + b) for a, b in segments(sequence[first:begin], window, locut, hicut)]
            found.append((begin, final))
            i = min(high, final + before)
            limit = i + 1
        i += 1
    return found


def is_low(entropy, hicut):
    return entropy is not None and entropy <= hicut


def window_entropies(sequence, window, before):
    """The entropy in bits of the window around each position; None where there is none."""
    entropies = [None] * len(sequence)
    for start in range(len(sequence) - window + 1):
        letters = sequence[start : start + window]
        counts = state(letters)
        if window - sum(counts) <= MAX_UNKNOWN:
            entropies[start + before] = entropy(counts)
    return entropies


def state(letters):
    return sorted((letters.count(a) for a in STANDARD if a in letters), reverse=True)


def entropy(counts):
    total = sum(counts)
    return abs(sum(n * log(n / total) / log(2) for n in counts) / total) if total else 0.0


def trimmed(letters):
    """First and last place of the part that is least likely by chance."""
    n = len(letters)
    best, place = 1.0, (0, n - 1)
    for length in range(n, max(1, n - MAX_TRIM), -1):
        for start in range(n - length + 1):
            found = log_probability(state(letters[start : start + length]), length)
            if found < best:
                best, place = found, (start, start + length - 1)
    return place


def log_probability(counts, length):
    """Of a state: the logarithm of the number of sequences that have it, over that of all sequences."""
    kinds = [counts.count(n) for n in sorted(set(counts), reverse=True)] + [len(STANDARD) - len(counts)]
    ways = ln_factorial(len(STANDARD))
    for n in kinds if counts else []:  # as NCBI has it: unknown letters alone are not likely at all
        ways -= ln_factorial(n)
    orders = ln_factorial(length)
    for n in counts:
        orders -= ln_factorial(n)
    return ways + orders - length * log(len(STANDARD))


def ln_factorial(n):
    """To six decimals, as NCBI's table has it: this decides between parts that are almost equally likely."""
    return round(lgamma(n + 1), 6)


def merged(intervals):
    joined = []
    for begin, end in intervals:
        if joined and begin <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((begin, end))
    return joined
