--- Methods of indexes, searchers, snapshots, containers and cancel flags.
local core = require "grebe.core"
local schema = require "grebe.schema"
core.own_source()

-- What an index and a searcher have in common.

local function count(self, query, where)
  if query == nil and where == nil then return #self end
  return core.hits_total(core.search(self, query, { where = where, limit = 0 }))
end

local function scan(self, where)
  local hits = core.search(self, nil, { where = where, sort = "_order",
                                        limit = "all" })
  local rank = 0
  return function()
    rank = rank + 1
    local hit = hits[rank]
    return hit and hit.doc
  end
end

local metatable, index, properties = core.kind "index"

--- search(query, options) or search(options): a page of hits. The query is a
-- text, which never raises, a query of grebe.q, or nil for all. Options:
-- fields where sort limit offset after since facets highlight total timeout
-- partial cancel op load plan. `limit = "all"` (or math.huge) is all.
index.search = core.search
--- count(query, where): how many match.
index.count = count
--- scan(where): for doc in ix:scan() do ... end, in insertion order.
index.scan = scan
--- get(key): the stored fields, uncommitted work included, or nil.
index.get = core.get
--- add(document, { overwrite = true }): replaces what has its key.
index.add = core.add
--- add_many(array or iterator function, { overwrite =, errors = "return",
-- ignore_unknown = true, threads = 1..64 }): all are tried, then the first
-- failure is raised
-- with .added and .failures, an array of { position =, key =, error = }.
-- errors = "return" returns that array, ignore_unknown sorted names.
function index.add_many(self, documents, options)
  local result = core.add_many(self, documents, options)
  if result == nil or result[1] or (options and options.errors == "return") then
    return result
  end
  local names = {}
  for name in pairs(result) do names[#names + 1] = name end
  table.sort(names)
  return names
end

--- delete(key): how many were deleted.
index.delete = core.index_delete

--- delete_many(keys): how many were deleted.
function index.delete_many(self, keys)
  local deleted = 0
  if type(keys) ~= "table" then
    core.fail(core.TYPE, "delete_many takes an array of keys, not "
              .. type(keys))
  end
  for _, key in ipairs(keys) do
    deleted = deleted + core.index_delete(self, key)
  end
  return deleted
end

--- delete_by_query(text or query): how many; a text is read strictly.
index.delete_by_query = core.index_delete_by_query
--- commit { soft = false, publish = true }: what it did.
index.commit = core.commit
--- batch(function(ix) ... end, { soft = true }): one commit at the end, whose
-- report is returned before the function's results. If the function raises,
-- all of it is undone and the error goes on as it was.
index.batch = core.batch
--- snapshot(): a state for restore; soft-commits first.
index.snapshot = core.index_snapshot
--- branch(): a new index in memory with the last commit's content.
index.branch = core.index_branch
--- terms(field, prefix, limit): array of { term =, docs = } in byte order.
index.terms = core.index_terms
--- analyze(field, text): array of { text =, position =, start =, stop = };
-- text:sub(start + 1, stop) is where the token stands.
index.analyze = core.index_analyze
--- Counters since the index was opened and its size, a table.
index.stats = core.index_stats_read
--- close(commit = true): twice is silent.
index.close = core.index_close

--- Goes back to the last hard commit.
function index.rollback(self)
  core.index_rollback(self)
  core.schema_refresh(self)
end

--- merge { order = "graph", "field" or "-field", memory_max = bytes }: merges
-- all segments into one. An order lays documents with the same terms together
-- or sorts them by a column; answers stay the same.
function index.merge(self, options)
  if options == nil then
    return core.index_merge(self)
  elseif type(options) ~= "table" then
    core.fail(core.TYPE, "merge takes a table of options, not "
              .. type(options))
  end
  for name in pairs(options) do
    if name ~= "order" and name ~= "memory_max" then
      core.fail(core.ARGUMENT, "merge: no option " .. tostring(name))
    end
  end
  if options.order == nil then
    return core.index_merge(self)
  end
  core.index_merge_ordered(self, options.order, options.memory_max or 0)
end

--- restore(snapshot): goes back to it, any number of times.
function index.restore(self, snapshot)
  core.index_restore(self, snapshot)
  core.schema_refresh(self)
end

--- refresh(): opened for reading, takes in a newer hard commit; true if there
-- was one. Searches do it by themselves.
function index.refresh(self)
  local changed = core.index_refresh(self)
  core.schema_refresh(self)
  return changed
end

--- add_fields { name = grebe.text() }: old documents have no value in them.
function index.add_fields(self, fields)
  core.index_add_fields(self, schema.make(fields or {}))
  core.schema_refresh(self)
end

--- searcher { uncommitted = true } or { since = info }: a fixed point in time.
function index.searcher(self, options)
  local since, uncommitted
  for name, value in pairs(options or {}) do
    if name == "since" then
      since = value
    elseif name == "uncommitted" then
      uncommitted = value
    else
      core.fail(core.ARGUMENT, "searcher has no option '" .. tostring(name)
                .. "'")
    end
  end
  if uncommitted then return core.index_searcher_uncommitted(self) end
  return core.index_searcher(self, since)
end

--- has(key): whether there is a document with this key.
function index.has(self, key) return core.get(self, key) ~= nil end

--- explain(key, query): says in words how the score comes about.
function index.explain(self, key, query)
  local searcher <close> = core.index_searcher(self)
  return core.explain(searcher, key, query)
end

--- The fields, a table name -> field.
properties.schema = schema.read
--- Whether it has been closed.
properties.closed = core.closed

--- The folder, nil in memory.
function properties.path(self)
  local path = core.index_path(self)
  return path ~= "" and path or nil
end

--- #ix: documents at the last commit.
function metatable.__len(self) return core.index_count(self) end

function metatable.__tostring(self)
  if core.closed(self) then return "grebe.index: closed" end
  return ("grebe.index: %s, %d documents"):format(
    self.path or "in memory", #self)
end

local searcher
metatable, searcher, properties = core.kind "searcher"
searcher.search = core.search
searcher.count = count
searcher.scan = scan
searcher.get = core.searcher_get
searcher.explain = core.explain
searcher.close = core.close
function searcher.has(self, key) return core.searcher_get(self, key) ~= nil end
properties.number = core.searcher_number
properties.closed = core.closed
properties.schema = schema.read
function metatable.__len(self) return core.searcher_count(self) end

function metatable.__tostring(self)
  if core.closed(self) then return "grebe.searcher: closed" end
  return ("grebe.searcher: %d documents, commit %d"):format(#self, self.number)
end

local _, snapshot
_, snapshot, properties = core.kind "snapshot"
snapshot.close = core.close
properties.closed = core.closed

local container
metatable, container, properties = core.kind "container"

--- core(name, fields): opens or creates a core; each call gives an index to
-- close by itself.
function container.core(self, name, fields)
  return core.container_core(self, name, schema.make(fields))
end

--- Names of all cores in byte order.
container.names = core.container_names
--- has(name): whether there is such a core.
container.has = core.container_has
--- drop(name): deletes a core and its files.
container.drop = core.container_drop
--- close(commit = true): closes every index it gave.
container.close = core.container_close
properties.closed = core.closed
function metatable.__len(self) return #core.container_names(self) end

local _, cancel = core.kind "cancel"
--- Ends the searches that look at it, now and later.
cancel.set = core.cancel_set
--- Takes it back.
cancel.clear = core.cancel_clear
--- Whether it is set.
cancel.is_set = core.cancel_is_set
