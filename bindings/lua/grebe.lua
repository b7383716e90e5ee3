--- Grebe, a search engine inside the program: local grebe = require "grebe".
--
-- Close what you open: `local ix <close> = grebe.open(...)` commits and closes
-- when its block is left, and closes without a commit on an error. What is
-- not closed the collector closes some day, without a commit: it does not see
-- C memory, so call ix:close(), hits:close() or collectgarbage "step" where
-- many are made.
--
-- Errors are raised as tables { word, code, message, field, key, file, offset,
-- pid } that print as one line; grebe.parse alone returns nil and the error.
-- Searches see the last commit; get and has see uncommitted work.
local core = require "grebe.core"
core.own_source()
local schema = require "grebe.schema"
local query = require "grebe.query"
require "grebe.hits"
require "grebe.index"

local grebe = {
  key = schema.key, text = schema.text, keyword = schema.keyword,
  int = schema.int, float = schema.float, bool = schema.bool,
  datetime = schema.datetime, bytes = schema.bytes,
  --- Query constructors.
  q = query,
  --- No value and no default: grebe.null where nil would mean "left out".
  null = core.null,
  --- A flag that ends the searches it was given to: cancel:set().
  cancel = core.cancel_new,
  --- check(folder): checks every byte; array of lines, or CORRUPT is raised.
  check = core.check,
  --- exists(folder): whether it holds an index.
  exists = core.exists,
  --- Handles not yet freed in this process.
  live_handles = core.live_handles,
  version = core.version(),
}

--- open(path, fields, options): the index in a folder, which is made if it is
-- missing, or in memory (":memory:"). `fields` is a table of name -> field;
-- nil where there is an index. Options: mode ("w", "r"), durability ("full",
-- "none"), add_fields, store, verify, merging, memory_max, docs_max,
-- deterministic, filter_cache (bytes; 0: no answers of filters are kept).
function grebe.open(path, fields, options)
  if path == nil then
    core.fail(core.TYPE, "a path is a string, not nil (\":memory:\" keeps the "
              .. "index in memory)")
  end
  local index = core.index_open(path, schema.make(fields), options)
  if options and options.mode == "r" then core.index_follow(index) end
  return index
end

--- container(path, options): named indexes in one folder, or in memory.
grebe.container = core.container_open

local function strict(handle, text, options)
  local fields, op
  for name, value in pairs(options or {}) do
    if name == "fields" then
      fields = value
    elseif name == "op" then
      op = value
    else
      core.fail(core.ARGUMENT, "parse has no option '" .. tostring(name) .. "'")
    end
  end
  if type(handle) == "table" then
    handle = core.schema_attach(schema.make(handle))
  end
  return core.parse(handle, text, fields, op)
end

local unreadable = { syntax = true, limit = true }

--- parse(text, index, searcher or fields, { fields =, op = }): reads a query
-- text strictly; the query, or nil and the error (with .offset in bytes).
function grebe.parse(text, handle, options)
  local ok, result = pcall(strict, handle, text, options)
  if ok then return result end
  if type(result) == "table" and unreadable[result.word] then
    return nil, result
  end
  error(result, 0)
end

--- highlight(field, { pre =, post =, size =, snippets =, encoder = "html" }):
-- an entry of the list that `highlight` of a search takes.
function grebe.highlight(field, options)
  local row = {}
  for name, value in pairs(options or {}) do row[name] = value end
  row.field = field
  return row
end

return setmetatable(grebe, {
  __index = function(_, name)
    core.fail(core.ARGUMENT, "grebe has no '" .. tostring(name) .. "'")
  end,
})
