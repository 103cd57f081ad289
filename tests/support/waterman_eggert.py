"""Several alignments of a pair by the textbook (Waterman and Eggert 1987): Gotoh's tables, filled anew for every round.

It shares no code with the package, keeps all cells, and is never optimised.
"""

NEVER = -(10**9)


def textbook(query, target, scoring, most, least):
    """(score, (query end, target end), steps) of each alignment: Gotoh's tables, filled anew for every round."""
    used, found = set(), []
    while len(found) < most:
        one = best_alignment(query, target, scoring, used)
        if one is None or one[0] < least:
            break
        found.append(one)
        row, column = one[1]
        for step in reversed(one[2]):
            if step == "M":
                used.add((row, column))
            row, column = row - (step != "D"), column - (step != "I")
    return found


def best_alignment(query, target, scoring, used):
    """The best alignment by the path rule that aligns no pair (row, column) of `used`; None if nothing scores."""
    first, extend = scoring.gap_first, scoring.gap_extend
    h = [[0] * (len(target) + 1) for _ in range(len(query) + 1)]
    e = [[NEVER] * (len(target) + 1) for _ in range(len(query) + 1)]
    f = [[NEVER] * (len(target) + 1) for _ in range(len(query) + 1)]
    matched = [[NEVER] * (len(target) + 1) for _ in range(len(query) + 1)]
    best = (0, 0, 0)
    for j in range(1, len(target) + 1):
        for i in range(1, len(query) + 1):
            e[i][j] = max(h[i][j - 1] - first, e[i][j - 1] - extend)
            f[i][j] = max(h[i - 1][j] - first, f[i - 1][j] - extend)
            if (i, j) not in used:
                matched[i][j] = h[i - 1][j - 1] + int(scoring.matrix[query[i - 1], target[j - 1]])
            h[i][j] = max(0, matched[i][j], e[i][j], f[i][j])
            if h[i][j] > best[0]:  # column by column, so the first is that of the smallest target end, then query end
                best = (h[i][j], i, j)
    score, i, j = best
    if score == 0:
        return None
    steps, state = [], "H"
    while state != "H" or h[i][j] > 0:
        if state == "H":
            if h[i][j] == matched[i][j]:
                steps.append("M")
                i, j = i - 1, j - 1
            else:
                state = "E" if h[i][j] == e[i][j] else "F"
        elif state == "E":
            steps.append("D")
            state = "H" if e[i][j] == h[i][j - 1] - first else "E"
            j -= 1
        else:
            steps.append("I")
            state = "H" if f[i][j] == h[i - 1][j] - first else "F"
            i -= 1
    return score, best[1:], "".join(reversed(steps))
