--- JSON to Lua's values, schemas, and comparing.
local grebe = require "grebe"
local json = require "json"
local null = json.null

local values = { score_tolerance = 2e-6 }

--- Raises what a runner prints as a difference.
local function differ(format, ...)
  error({ difference = format:format(...) }, 0)
end

--- Whether it is an object of one member with this name.
local function only(value, name)
  return type(value) == "table" and next(value) == name
         and next(value, name) == nil
end

--- A value as Lua has it; `i` fills the holes of "fill".
local function given(value, i)
  if type(value) == "string" and i then
    return (value:gsub("{}", tostring(i)))
  end
  if type(value) ~= "table" then return value end
  if only(value, "$hex") then
    return (value["$hex"]:gsub("%x%x", function(pair)
      return string.char(tonumber(pair, 16))
    end))
  end
  if only(value, "$inf") then return math.huge * value["$inf"] end
  if only(value, "$nan") then return 0 / 0 end
  if only(value, "$repeat") then
    return value["$repeat"][1]:rep(value["$repeat"][2])
  end
  if only(value, "$i") then return i end
  if only(value, "$pick") then
    return given(value["$pick"][i % #value["$pick"] + 1], i)
  end
  local made = {}
  for name, member in pairs(value) do made[name] = given(member, i) end
  return made
end

local function equal(wanted, got, tolerance)
  if type(wanted) == "number" and type(got) == "number" then
    return wanted == got
           or (math.type(wanted) == "float" or math.type(got) == "float")
              and math.abs(wanted - got) <= tolerance * math.abs(wanted)
  end
  if type(wanted) ~= "table" or type(got) ~= "table" then
    return wanted == got
  end
  for name, member in pairs(wanted) do
    if not equal(member, got[name], tolerance) then return false end
  end
  for name in pairs(got) do
    if wanted[name] == nil then return false end
  end
  return true
end

local function same(what, wanted, got, tolerance)
  if got == nil then got = null end
  if wanted == nil then differ("the step does not say what %s is", what) end
  if not equal(wanted, got, tolerance or 0) then
    differ("%s: expected %.600s, got %.600s", what, json.show(wanted),
           json.show(got))
  end
end

local function subset(what, wanted, got)
  for name, member in pairs(wanted) do
    if got[name] == nil then differ("%s of %s is not there", what, name) end
    same(what .. " of " .. name, member, got[name])
  end
end

local FLAGS = {
  many = { "many", true }, required = { "required", true },
  stored = { "stored", true }, unstored = { "stored", false },
  indexed = { "indexed", true }, unindexed = { "indexed", false },
  column = { "column", true }, uncolumned = { "column", false },
}

local function field_made(how)
  how = type(how) == "table" and how or { is = how }
  local options, kind, name = { default = how.default }, nil, nil
  for word in how.is:gmatch("%S+") do
    if not kind then
      kind = word
    elseif FLAGS[word] then
      options[FLAGS[word][1]] = FLAGS[word][2]
    else
      name = word
    end
  end
  if kind == "key" then return grebe.key(name) end
  if kind == "text" then return grebe.text(name, options) end
  return grebe[kind](options)
end

local function fields_made(fields)
  local made = {}
  for name, how in pairs(fields) do made[name] = field_made(how) end
  return made
end

local function scores_of(hits)
  local scores = {}
  for i, score in ipairs(hits.scores) do
    scores[i] = score == score and score or null
  end
  return scores
end

values.only, values.given, values.same = only, given, same
values.subset, values.differ, values.fields_made = subset, differ, fields_made
values.scores_of = scores_of

return values
