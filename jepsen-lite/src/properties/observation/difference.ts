/** Where two plain values differ first; without an intermediate form of either, since it is asked at every entry. */

/** A path into the values and what each has there; undefined when they are equal. Maps are compared in their order. */
export function difference(left: unknown, right: unknown): string | undefined {
  if (Object.is(left, right)) return undefined;
  if (!isObject(left) || !isObject(right)) return `${show(left)} is not ${show(right)}`;
  if (left instanceof Map && right instanceof Map) return entriesDifference([...left], [...right]);
  if (Array.isArray(left) && Array.isArray(right)) return listDifference(left, right);
  return recordDifference(left as Record<string, unknown>, right as Record<string, unknown>);
}

function entriesDifference(left: [unknown, unknown][], right: [unknown, unknown][]): string | undefined {
  const keys = listDifference(
    left.map(([key]) => key),
    right.map(([key]) => key),
  );
  if (keys !== undefined) return `keys${keys}`;
  for (const [position, [key, value]] of left.entries()) {
    const inside = difference(value, right[position]?.[1]);
    if (inside !== undefined) return within(key, inside);
  }
  return undefined;
}

function listDifference(left: readonly unknown[], right: readonly unknown[]): string | undefined {
  if (left.length !== right.length) return `: ${show(left)} is not ${show(right)}`;
  for (let position = 0; position < left.length; position += 1) {
    const inside = difference(left[position], right[position]);
    if (inside !== undefined) return within(position, inside);
  }
  return undefined;
}

function recordDifference(left: Record<string, unknown>, right: Record<string, unknown>): string | undefined {
  let keys = 0;
  for (const key in left) {
    keys += 1;
    if (left[key] === right[key]) continue;
    const inside = difference(left[key], right[key]);
    if (inside !== undefined) return within(key, inside);
  }
  const others = Object.keys(right);
  if (others.length === keys) return undefined;
  const missing = others.find((key) => !(key in left)) ?? '';
  return within(missing, `is missing, not ${show(right[missing])}`);
}

function within(key: unknown, inside: string): string {
  return ` ${String(key)}${inside.startsWith(' ') || inside.startsWith(':') ? inside : `: ${inside}`}`;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? String(value);
}
