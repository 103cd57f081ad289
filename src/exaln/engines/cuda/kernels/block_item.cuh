// The work item of block.cu: one query against one target or a part of it. collect.cu writes such items for
// pairs that must be scored again.

#pragma once

struct BlockItem {
    unsigned query, row;     // indices of the query and of the target
    unsigned begin, length;  // the part of the target, in letters
};
