-- Makes the world, or looks at what there is of it, says what it has seen, changes a little of it, and ends the server.
local from, to, piece = -64, 63, 64
local places = {{x = 1, y = 2, z = 3}, {x = -60, y = 40, z = 60}}

local function say(text)
  print("LOOK " .. text)
end

local function digest_of_piece(lower)
  local manip = minetest.get_voxel_manip(lower, vector.add(lower, piece - 1))
  local names = {}
  for i, id in ipairs(manip:get_data()) do
    names[i] = minetest.get_name_from_content_id(id)
  end
  return minetest.sha1(table.concat(names, ","))
end

local function digest()
  local digests = {}
  for x = from, to, piece do
    for y = from, to, piece do
      for z = from, to, piece do
        digests[#digests + 1] = digest_of_piece({x = x, y = y, z = z})
      end
    end
  end
  return minetest.sha1(table.concat(digests))
end

local function look()
  say("nodes " .. digest())
  for _, place in ipairs(places) do
    local node, meta = minetest.get_node(place), minetest.get_meta(place)
    say(node.name .. " " .. node.param2 .. " '" .. meta:get_string("sign") .. "'")
    minetest.set_node(place, {name = "basenodes:stone", param2 = node.param2 + 1})
    meta:set_string("sign", "was here")
  end
  local passwords = minetest.get_auth_handler()
  local ada = passwords.get_auth("ada")
  if ada then
    say("password " .. ada.password)
    passwords.set_password("ada", ada.password .. "!")
  else
    passwords.create_auth("ada", "secret")
  end
  minetest.request_shutdown()
end

minetest.after(0, function()
  local lower, upper = {x = from, y = from, z = from}, {x = to, y = to, z = to}
  minetest.emerge_area(lower, upper, function(_, _, remaining)
    if remaining == 0 then minetest.after(0, look) end
  end)
end)
