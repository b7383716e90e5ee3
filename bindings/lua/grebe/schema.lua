--- Schemas and the constructors of their fields.
local core = require "grebe.core"
core.own_source()

local schema = {}

local kinds = {
  [core.TEXT] = "text", [core.KEYWORD] = "keyword", [core.INT] = "int",
  [core.DOUBLE] = "float", [core.BOOL] = "bool",
  [core.DATETIME] = "datetime", [core.BYTES] = "bytes",
}
local flags = {
  stored = core.STORED, indexed = core.INDEXED, column = core.COLUMN,
  many = core.MANY, required = core.REQUIRED,
}

-- What a field is. Fields are tables that nobody changes: { kind = "text",
-- analyzer = "en", stored = true, ... }.
local Field = { __name = "grebe.field" }

function Field.__tostring(field)
  local words = { "grebe.field:", field.key and "key" or field.kind }
  if field.key then words[3] = field.kind end
  if field.analyzer then words[#words + 1] = field.analyzer end
  for _, name in ipairs { "stored", "indexed", "column", "many", "required" } do
    if field[name] then words[#words + 1] = name end
  end
  return table.concat(words, " ")
end

local function fail(word, message)
  core.fail(core[word], message)
end

local function field_make(kind, defaults, analyzer, options)
  if options ~= nil and type(options) ~= "table" then
    fail("TYPE", "options of a field are a table, not " .. type(options))
  end
  local field = { kind = kind, analyzer = analyzer }
  for name in pairs(flags) do field[name] = defaults[name] or false end
  for name, value in pairs(options or {}) do
    if name == "default" then
      field.default = value
    elseif flags[name] then
      if type(value) ~= "boolean" then
        fail("TYPE", name .. " is true or false, not " .. type(value))
      end
      field[name] = value
    elseif not (name == 1 and kind == core.TEXT) then
      fail("ARGUMENT", "a field has no option '" .. tostring(name) .. "'")
    end
  end
  field.kind = kinds[kind]
  field.code = kind
  return setmetatable(field, Field)
end

local usual = { stored = true, indexed = true, column = true }

--- The unique key of a schema, one at most: "str" (the default) or "int".
function schema.key(kind)
  local codes = { str = core.KEYWORD, int = core.INT }
  local code = codes[kind == nil and "str" or kind]
  if not code then
    fail("ARGUMENT", "the kind of a key is \"str\" or \"int\", not "
         .. tostring(kind))
  end
  local field = field_make(code, usual)
  field.key = true
  return field
end

--- Text that is cut into words: grebe.text "en", grebe.text("en", options) or
-- grebe.text { "en", many = true }. Without a name: "standard", which has no
-- stop words; "whitespace", "keyword", "simple" and languages ("en") are
-- others.
function schema.text(analyzer, options)
  if type(analyzer) == "table" and options == nil then
    analyzer, options = analyzer[1], analyzer
  end
  if analyzer == nil then analyzer = "standard" end
  if type(analyzer) ~= "string" then
    fail("TYPE", "an analyzer's name is a string, not " .. type(analyzer))
  end
  return field_make(core.TEXT, { stored = true, indexed = true }, analyzer,
                    options)
end

local function plain(kind, defaults)
  return function(options) return field_make(kind, defaults, nil, options) end
end

--- A string that is one term as it stands, at most 32,766 bytes of UTF-8.
schema.keyword = plain(core.KEYWORD, usual)
--- A signed integer of 64 bits; a float is taken if it has such a value.
schema.int = plain(core.INT, usual)
--- A float of 64 bits, or an integer; NaN is refused.
schema.float = plain(core.DOUBLE, usual)
--- true or false.
schema.bool = plain(core.BOOL, usual)
--- A point in time: integer milliseconds since 1970 UTC, or ISO 8601 text
-- with Z or an offset; comes back as integer milliseconds.
schema.datetime = plain(core.DATETIME, usual)
--- Any string, stored only.
schema.bytes = plain(core.BYTES, { stored = true })

local function names_of(fields)
  local names = {}
  for name, field in pairs(fields) do
    if type(name) ~= "string" then
      fail("SCHEMA", "a field's name is a string, not " .. type(name))
    end
    if getmetatable(field) ~= Field then
      fail("SCHEMA", "field '" .. name .. "' is made by grebe.text(), "
           .. "grebe.keyword(), grebe.int() and so on")
    end
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

--- The C schema of a table name -> field. A table has no order, so fields are
-- numbered by their names.
function schema.make(fields)
  if fields == nil then return nil end
  if type(fields) ~= "table" then
    fail("TYPE", "a schema is a table of fields, not " .. type(fields))
  end
  local made = core.schema_new()
  for _, name in ipairs(names_of(fields)) do
    local field, bits = fields[name], 0
    for word, bit in pairs(flags) do
      if field[word] then bits = bits | bit end
    end
    if field.key then bits = bits | core.KEY end
    core.schema_add(made, { name, field.code, bits, field.analyzer,
                            field.default })
  end
  return made
end

--- The table name -> field of an index or a searcher.
function schema.read(handle)
  local fields = {}
  for _, row in ipairs(core.schema_fields(handle)) do
    local field = { code = row[2], kind = kinds[row[2]], analyzer = row[4],
                    default = row[5] }
    for word, bit in pairs(flags) do field[word] = row[3] & bit ~= 0 end
    if row[3] & core.KEY ~= 0 then field.key = true end
    fields[row[1]] = setmetatable(field, Field)
  end
  return fields
end

return schema
