// A pair of a query and a row of the targets for block.cu: which part of the target, in letters.
#pragma once

struct Item {
    unsigned query, row, begin, length;
};
