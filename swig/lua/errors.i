/* lua/errors.i - a status that is not OK is raised as a table (errors.c).
 *
 * The error lies on the wrapper's stack. Wrappers take at most the arguments
 * that the C call has; those left out are nil, and the typemaps say what that
 * means.
 */
%{
#include "binding.h"

#undef SWIG_check_num_args
#define SWIG_check_num_args(name, least, most) \
    int argument_count = most;                 \
    grb_lua_arguments(L, name, argument_count);
%}

%exception {
    grb_lua_arguments_open(L, argument_count);
    $action
}

%typemap(in, numinputs=0, noblock=1) grebe_error *err {
    grebe_error error;
    error.message[0] = 0;
    $1 = &error;
}

%typemap(out, noblock=1) grebe_status {
    if ($1 != GREBE_OK) grb_lua_raise(L, &error);
}
