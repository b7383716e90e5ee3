/* swig/stats.h - the members of grebe_index_stats by name, for both modules. */
#ifndef GREBE_SWIG_STATS_H
#define GREBE_SWIG_STATS_H

#define GREBE_STATS_LIST(X) \
    X(docs) X(docs_deleted) X(segments) X(memory_segments) \
    X(commit_number) X(pending) X(adds) X(deletes) X(soft_commits) \
    X(hard_commits) X(freezes) X(merges) X(failures) X(syncs) \
    X(bytes_written) X(bytes_indexed) X(tokens) X(terms_skipped) \
    X(searches) X(blocks_decoded) X(stored_blocks) X(memory_bytes) \
    X(filter_hits) X(filter_misses) X(filter_evictions) X(filter_bytes) \
    X(analyse_ns) X(append_ns) X(soft_commit_ns) X(hard_commit_ns) \
    X(freeze_ns) X(merge_ns) X(search_ns)

#endif
