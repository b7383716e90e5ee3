/* python/gil.i - which calls give the GIL away.
 *
 * Those that may wait for a writer, a disk or a long run; the others are
 * shorter than the handover. GRB_WORK also counts the call while it runs, so
 * that a short call of another thread knows that it may have to wait
 * (writing.c). The batch calls keep the count of their own thread's batches.
 */
%nothread;

%define GRB_WORK(name)
%thread name;
%exception name {
    grb_py_work_begin();
    $action
    grb_py_work_end();
}
%enddef

GRB_WORK(grebe_index_open)
GRB_WORK(grebe_index_close)
GRB_WORK(grebe_index_add_fields)
GRB_WORK(grebe_index_delete)
GRB_WORK(grebe_index_delete_by_query)
GRB_WORK(grebe_index_rollback)
GRB_WORK(grebe_index_snapshot)
GRB_WORK(grebe_index_restore)
GRB_WORK(grebe_index_branch)
GRB_WORK(grebe_index_merge)
GRB_WORK(grebe_index_merge_ordered)
GRB_WORK(grebe_index_refresh)
GRB_WORK(grebe_index_stats_read)
GRB_WORK(grebe_index_searcher)
GRB_WORK(grebe_index_searcher_uncommitted)
GRB_WORK(grebe_container_open)
GRB_WORK(grebe_container_core)
GRB_WORK(grebe_container_drop)
GRB_WORK(grebe_container_close)
GRB_WORK(grebe_check)

%thread grebe_index_batch_begin;
%exception grebe_index_batch_begin {
    grb_py_work_begin();
    $action
    grb_py_work_end();
    if (result == GREBE_OK) grb_py_batch_count(1);
}

%define GRB_BATCH_OVER(name)
%thread name;
%exception name {
    $action
    if (result == GREBE_OK) grb_py_batch_count(-1);
}
%enddef

GRB_BATCH_OVER(grebe_index_batch_end)
GRB_BATCH_OVER(grebe_index_batch_undo)
