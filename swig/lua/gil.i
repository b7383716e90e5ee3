/* lua/gil.i - nothing to give away: a Lua state belongs to one thread. */
