// Where actions point, by their names.

const STEPS = {
  up: [-1, 0], down: [1, 0], left: [0, -1], right: [0, 1],
  north: [-1, 0], south: [1, 0], west: [0, -1], east: [0, 1], stay: [0, 0],
};

export const stepOf = (name) => STEPS[name.toLowerCase()] ?? null;

// What a policy (a pair per state) does in each state: an arrow where the action has a direction, else its number.
export function drawPolicy(context, canvas, world, policy, colourAt, skip = () => false) {
  for (const s of canvas.board.members) {
    const [row, column] = canvas.board.place.get(s);
    if (skip(row, column)) continue;
    const colour = colourAt(s);
    const action = world.action[policy[s]];
    const step = stepOf(world.actions[action]);
    if (step) canvas.arrow(context, row, column, step, colour);
    else canvas.write(context, row, column, String(action), colour, 0.55, 600);
  }
}
