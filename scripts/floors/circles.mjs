// Files of a package that import each other in a circle, types included: none of them can be understood, moved or tested without the others.

import { posix } from 'node:path';

import { importsOf } from './imports.mjs';

/** @returns {string[]} one line a circle, with the shortest way round from its first file */
export function circleProblems(member) {
  const imports = importsWithin(member);
  const problems = [];
  const known = new Set();
  for (const file of imports.keys()) {
    if (known.has(file)) continue;
    const circle = shortestWayBack(file, imports);
    if (circle === undefined) continue;
    for (const each of circle) known.add(each);
    const names = [...circle, file].map((each) => posix.relative(member.folder, each)).join(' -> ');
    problems.push(`${file}: imports itself in a circle: ${names}; move what they share to a file of its own`);
  }
  return problems;
}

function importsWithin({ folder, files }) {
  const sources = new Map(
    files.filter(({ path }) => path.startsWith(`${folder}/src/`)).map((file) => [file.path, file]),
  );
  return new Map(
    [...sources].map(([path, { text }]) => {
      const own = importsOf(path, text).map(({ specifier }) => posix.join(posix.dirname(path), specifier));
      return [path, own.filter((imported) => sources.has(imported))];
    }),
  );
}

function shortestWayBack(start, imports) {
  const cameFrom = new Map();
  const queue = [start];
  for (const file of queue) {
    for (const next of imports.get(file)) {
      if (next === start) return wayTo(file, start, cameFrom);
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, file);
      queue.push(next);
    }
  }
  return undefined;
}

function wayTo(last, start, cameFrom) {
  const way = [last];
  while (way[0] !== start) way.unshift(cameFrom.get(way[0]));
  return way;
}
