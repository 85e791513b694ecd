// Where states and pairs are drawn: on the map of the world, or in lines.

import { unpack } from "./numbers.js";

// A world as the other modules read it: arrays unpacked, and where things stand.
export function readWorld(message) {
  const world = { ...message, ptr: unpack(message.ptr), action: unpack(message.action), label: unpack(message.label) };
  world.state = new Int32Array(world.M);
  for (let s = 0; s < world.S; s++) for (let k = world.ptr[s]; k < world.ptr[s + 1]; k++) world.state[k] = s;
  if (message.edges) {
    world.edges = { ptr: unpack(message.edges.ptr), succ: unpack(message.edges.succ), prob: unpack(message.edges.prob) };
  }
  if (message.map) world.map = { ...message.map, cell: unpack(message.map.cell) };
  return world;
}

export function stateName(world, s) {
  if (world.names) return world.names[s];
  return world.map ? `${world.map.cell[2 * s]},${world.map.cell[2 * s + 1]}` : String(s);
}

// A board of cells: where each of its members (states, or pairs) stands, and which cells are walls.
class Board {
  constructor(title, rows, columns) {
    Object.assign(this, { title, rows, columns, members: [], at: new Int32Array(rows * columns).fill(-1), wall: null });
    this.place = new Map();
  }

  add(member, row, column) {
    this.members.push(member);
    this.at[row * this.columns + column] = member;
    this.place.set(member, [row, column]);
  }
}

function mapBoard(world, title) {
  const { rows } = world.map;
  const board = new Board(title, rows.length, Math.max(...rows.map((row) => row.length)));
  board.wall = (row, column) => (rows[row][column] ?? "#") === "#";
  board.mark = (row, column) => rows[row][column] ?? "#";
  return board;
}

function lineWidth(world, nActions, widest) {
  return Math.min(world.S, Math.max(widest, Math.ceil(Math.sqrt(world.S * (nActions + 1)))));
}

export function stateBoard(world, title, widest = 25) {
  if (world.map) {
    const board = mapBoard(world, title);
    for (let s = 0; s < world.S; s++) board.add(s, world.map.cell[2 * s], world.map.cell[2 * s + 1]);
    return board;
  }
  const width = lineWidth(world, 1, widest);
  const board = new Board(title, Math.ceil(world.S / width), width);
  for (let s = 0; s < world.S; s++) board.add(s, Math.floor(s / width), s % width);
  return board;
}

// Boards of all pairs: one per action on a map; otherwise one, with a row per action in each line of states.
export function pairBoards(world, title = "", widest = 25, order = null) {
  if (world.map) {
    const boards = world.actions.map((name) => mapBoard(world, name));
    for (let k = 0; k < world.M; k++) {
      const s = world.state[k];
      boards[world.action[k]].add(k, world.map.cell[2 * s], world.map.cell[2 * s + 1]);
    }
    return boards.filter((board) => board.members.length);
  }
  const actions = world.actions.length;
  const width = lineWidth(world, actions, widest);
  const gap = Math.ceil(world.S / width) > 1 ? 1 : 0;
  const lines = Math.ceil(world.S / width);
  const board = new Board(title, lines * (actions + gap) - gap, width);
  const rank = new Int32Array(world.S);
  (order || Array.from({ length: world.S }, (_, s) => s)).forEach((s, place) => { rank[s] = place; });
  for (let k = 0; k < world.M; k++) {
    const place = rank[world.state[k]];
    board.add(k, Math.floor(place / width) * (actions + gap) + world.action[k], place % width);
  }
  return [board];
}

// States so that those whose pairs have the same classes stand together, the commonest first.
export function sortedStates(world) {
  const key = (s) => Array.from(world.label.subarray(world.ptr[s], world.ptr[s + 1])).join(" ");
  const keys = Array.from({ length: world.S }, (_, s) => key(s));
  const count = new Map();
  for (const k of keys) count.set(k, (count.get(k) || 0) + 1);
  return Array.from(keys.keys()).sort((a, b) =>
    count.get(keys[b]) - count.get(keys[a]) || (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : a - b));
}
