--- Reads JSON; integers stay integers, NUL is a character, order is kept in
-- one point: json.first tells the first member of an object.
local json = { firsts = setmetatable({}, { __mode = "k" }) }

local escapes = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t",
                  ['"'] = '"', ["\\"] = "\\", ["/"] = "/" }
local read

local function fail(text, at, what)
  error(("%s at byte %d: %s"):format(what, at, text:sub(at, at + 20)), 0)
end

local function space_skip(text, at) return text:find("[^ \t\r\n]", at) or at end

local function unit_read(text, at)
  local hex = text:match("^%x%x%x%x", at)
  if not hex then fail(text, at, "four hex digits are wanted") end
  return tonumber(hex, 16), at + 4
end

local function escape_read(text, at)
  local letter = text:sub(at, at)
  if letter ~= "u" then
    return escapes[letter] or fail(text, at, "no such escape"), at + 1
  end
  local unit, low
  unit, at = unit_read(text, at + 1)
  if unit >= 0xd800 and unit < 0xdc00 and text:sub(at, at + 1) == "\\u" then
    low, at = unit_read(text, at + 2)
    unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00)
  end
  return utf8.char(unit), at
end

local function string_read(text, at)
  local parts = {}
  while true do
    local from, to = text:find('^[^"\\]+', at)
    if from then
      parts[#parts + 1], at = text:sub(from, to), to + 1
    end
    local mark = text:sub(at, at)
    if mark == '"' then return table.concat(parts), at + 1 end
    if mark ~= "\\" then fail(text, at, "a string is open") end
    parts[#parts + 1], at = escape_read(text, at + 1)
  end
end

local function list_read(text, at)
  local list = {}
  at = space_skip(text, at)
  if text:sub(at, at) == "]" then return list, at + 1 end
  while true do
    list[#list + 1], at = read(text, at)
    at = space_skip(text, at)
    local mark = text:sub(at, at)
    if mark == "]" then return list, at + 1 end
    if mark ~= "," then fail(text, at, "a list is open") end
    at = at + 1
  end
end

local function object_read(text, at)
  local object = {}
  at = space_skip(text, at)
  if text:sub(at, at) == "}" then return object, at + 1 end
  while true do
    local name
    name, at = read(text, at)
    json.firsts[object] = json.firsts[object] or name
    at = space_skip(text, at)
    if text:sub(at, at) ~= ":" then fail(text, at, "a colon is wanted") end
    object[name], at = read(text, at + 1)
    at = space_skip(text, at)
    local mark = text:sub(at, at)
    if mark == "}" then return object, at + 1 end
    if mark ~= "," then fail(text, at, "an object is open") end
    at = space_skip(text, at + 1)
  end
end

function read(text, at)
  at = space_skip(text, at)
  local mark = text:sub(at, at)
  if mark == '"' then return string_read(text, at + 1) end
  if mark == "{" then return object_read(text, at + 1) end
  if mark == "[" then return list_read(text, at + 1) end
  local word = text:match("^[%w.+-]+", at) or fail(text, at, "no value")
  at = at + #word
  if word == "true" then return true, at end
  if word == "false" then return false, at end
  if word == "null" then return json.null, at end
  local number = tonumber(word) or fail(text, at, "no value")
  return number, at
end

--- The value of a text; null is json.null.
function json.decode(text)
  local value, at = read(text, 1)
  if text:find("[^ \t\r\n]", at) then fail(text, at, "text is left over") end
  return value
end

--- Name and value of the first member of an object.
function json.first(object)
  local name = json.firsts[object]
  return name, object[name]
end

--- A value as text, for messages.
function json.show(value)
  if value == json.null or type(value) == "userdata" then return "null" end
  if type(value) == "string" then return ("%q"):format(value) end
  if type(value) ~= "table" then return tostring(value) end
  local parts = {}
  for _, member in ipairs(value) do parts[#parts + 1] = json.show(member) end
  for name, member in pairs(value) do
    if math.type(name) ~= "integer" then
      parts[#parts + 1] = tostring(name) .. ": " .. json.show(member)
    end
  end
  return "{" .. table.concat(parts, ", ") .. "}"
end

return json
