/** The difference of two texts, line by line. Pure functions. */

const MOST_CHANGES = 800; // time and memory grow with the square of the changed lines

/**
 * Return the lines of both texts, in order.
 * @returns {Array<{sign: string, text: string}>} `-` of the first text alone, `+` of the second, a
 *     space of both. Where too much differs, all lines in between count as changed.
 */
export function difference(before, after) {
  const old = before.split("\n");
  const now = after.split("\n");
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const removed = old.slice(head, old.length - tail);
  const added = now.slice(head, now.length - tail);
  return [
    ...signed(" ", old.slice(0, head)),
    ...(shortestEdit(removed, added) || [...signed("-", removed), ...signed("+", added)]),
    ...signed(" ", old.slice(old.length - tail)),
  ];
}

function signed(sign, lines) {
  return lines.map((text) => ({ sign, text }));
}

/** Return the edit with the fewest changes (E. Myers, An O(ND) Difference Algorithm), or null. */
function shortestEdit(old, now) {
  const reached = new Map([[1, 0]]); // diagonal -> the furthest line of the old text
  const trace = [];
  for (let changes = 0; changes <= Math.min(MOST_CHANGES, old.length + now.length); changes += 1) {
    trace.push(new Map(reached));
    for (let diagonal = -changes; diagonal <= changes; diagonal += 2) {
      let x = goesDown(reached, diagonal, changes) ? reached.get(diagonal + 1) : reached.get(diagonal - 1) + 1;
      while (x < old.length && x - diagonal < now.length && old[x] === now[x - diagonal]) x += 1;
      reached.set(diagonal, x);
      if (x >= old.length && x - diagonal >= now.length) return follow(trace, old, now);
    }
  }
  return null;
}

function goesDown(reached, diagonal, changes) {
  return diagonal === -changes || (diagonal !== changes && reached.get(diagonal - 1) < reached.get(diagonal + 1));
}

function follow(trace, old, now) {
  const edit = [];
  let x = old.length;
  let y = now.length;
  for (let changes = trace.length - 1; changes >= 0; changes -= 1) {
    const diagonal = x - y;
    const isDown = goesDown(trace[changes], diagonal, changes);
    const from = isDown ? diagonal + 1 : diagonal - 1;
    const startX = trace[changes].get(from);
    const startY = startX - from;
    while (x > startX && y > startY) {
      x -= 1;
      y -= 1;
      edit.push({ sign: " ", text: old[x] });
    }
    if (changes > 0) edit.push(isDown ? { sign: "+", text: now[startY] } : { sign: "-", text: old[startX] });
    x = startX;
    y = startY;
  }
  return edit.reverse();
}
