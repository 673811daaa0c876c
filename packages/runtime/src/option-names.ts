/**
 * Options that are misspelt would otherwise be options that are not there: `sessionTimeout: 5000` took the default without a word. The
 * names are looked at where TypeScript does not see them. Each package has an error of its own for it.
 */

/** What is wrong with the names, and which one was probably meant; undefined where each is known. `options` is what a caller has given. */
export function optionNamesProblem(
  what: string,
  options: unknown,
  known: Readonly<Record<string, unknown>>,
): string | undefined {
  if (typeof options !== 'object' || options === null) {
    const names = Object.keys(known);
    return `${what} takes an object with options, ${names.join(', ')}; it was given ${describe(options)}`;
  }
  for (const name in options) {
    if (Object.hasOwn(known, name)) continue;
    const names = Object.keys(known);
    const nearest = nearestOf(name, names);
    const hint = nearest === undefined ? `known are ${names.join(', ')}` : `did you mean ${nearest}?`;
    return `${what} has no option ${JSON.stringify(name)}; ${hint}`;
  }
  return undefined;
}

function describe(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

/** The name that `text` is an abbreviation of, or the one with the fewest changes of single characters, where that is at most a third. */
function nearestOf(text: string, names: readonly string[]): string | undefined {
  const asked = text.toLowerCase();
  const abbreviated = names.find((name) => asked.length > 2 && name.toLowerCase().startsWith(asked));
  if (abbreviated !== undefined) return abbreviated;
  const changes = names.map((name) => distance(asked, name.toLowerCase()));
  const least = Math.min(...changes);
  return least <= Math.max(2, asked.length / 3) ? names[changes.indexOf(least)] : undefined;
}

/** Levenshtein's. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let index = 0; index < from.length; index += 1) {
    const next = [index + 1];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (from[index] === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
