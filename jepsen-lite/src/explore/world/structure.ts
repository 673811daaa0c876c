/**
 * Copies and writes down any state by walking over its own properties. What cannot be seen this way (functions, private names, weak
 * collections) is an error that names the place, so that a state never has a part that copies share or that two equal texts hide.
 * Frozen objects, bytes and the functions that are named as constants are shared by all copies.
 */

type Fields = Record<string, unknown>;

class OpaqueStateError extends Error {
  constructor(place: string, what: string) {
    super(`state cannot be copied: ${place === '' ? 'it' : place} is ${what}`);
    this.name = 'OpaqueStateError';
  }
}

/** Functions without a state of their own. */
export type Constants = ReadonlySet<unknown>;

/** Objects that are reached twice stay one object. */
export function copyOf<T>(value: T, constants: Constants): T {
  return copyValue(value, constants, new Map(), '') as T;
}

function copyValue(value: unknown, constants: Constants, copies: Map<object, object>, place: string): unknown {
  if (typeof value !== 'object' || value === null) {
    if (typeof value === 'function' && !constants.has(value)) throw new OpaqueStateError(place, 'a function');
    return value;
  }
  const known = copies.get(value);
  if (known !== undefined) return known;
  if (value instanceof Uint8Array || Object.isFrozen(value)) return value;
  if (Array.isArray(value)) {
    const copy: unknown[] = [];
    copies.set(value, copy);
    for (let at = 0; at < value.length; at += 1) copy.push(copyValue(value[at], constants, copies, place));
    return copy;
  }
  if (value instanceof Map) {
    const copy = new Map<unknown, unknown>();
    copies.set(value, copy);
    for (const [key, each] of value) copy.set(plainKey(key, place), copyValue(each, constants, copies, place));
    return copy;
  }
  if (value instanceof Set) {
    const copy = new Set<unknown>();
    copies.set(value, copy);
    for (const each of value) copy.add(plainKey(each, place));
    return copy;
  }
  const fields = fieldsOf(value, place);
  const copy = Object.create(Object.getPrototypeOf(value) as object) as Fields;
  copies.set(value, copy);
  for (const name in fields) copy[name] = copyValue(fields[name], constants, copies, name);
  return copy;
}

/** Equal for equal states; of Maps and Sets the order does not count. Frozen objects count by what they are, functions not at all. */
export function textOf(value: unknown, constants: Constants): string {
  const kind = typeof value;
  if (kind === 'number' || kind === 'boolean' || value === undefined || value === null) return String(value);
  if (kind === 'string') return JSON.stringify(value);
  if (typeof value !== 'object') {
    if (constants.has(value)) return '!';
    throw new OpaqueStateError('', `a ${kind}`);
  }
  if (value instanceof Uint8Array) return remembered(value, () => `<${value.join()}>`);
  if (Array.isArray(value)) {
    let text = '[';
    for (const each of value) text += `${textOf(each, constants)},`;
    return `${text}]`;
  }
  if (value instanceof Map) {
    const parts: string[] = [];
    for (const [key, each] of value) parts.push(`${textOf(plainKey(key, ''), constants)}:${textOf(each, constants)}`);
    return `{${parts.toSorted().join()}}`;
  }
  if (value instanceof Set) {
    const parts: string[] = [];
    for (const each of value) parts.push(textOf(plainKey(each, ''), constants));
    return `{${parts.toSorted().join()}}`;
  }
  const known = frozenTexts.get(value);
  if (known !== undefined) return known;
  const fields = fieldsOf(value, '');
  const named = Object.getPrototypeOf(value) === Object.prototype;
  let text = '(';
  for (const name in fields) text += `${named ? name : ''}=${textOf(fields[name], constants)},`;
  text += ')';
  if (Object.isFrozen(value)) frozenTexts.set(value, text);
  return text;
}

/** Of what never changes. */
const frozenTexts = new WeakMap<object, string>();

function remembered(value: object, make: () => string): string {
  const known = frozenTexts.get(value);
  if (known !== undefined) return known;
  const text = make();
  frozenTexts.set(value, text);
  return text;
}

/** Keys are compared by identity, which no copy of an object would have. */
function plainKey(key: unknown, place: string): unknown {
  if (typeof key === 'object' && key !== null) throw new OpaqueStateError(place, 'a collection with an object as key');
  return key;
}

function fieldsOf(value: object, place: string): Fields {
  if (value instanceof WeakMap || value instanceof WeakSet || value instanceof Promise || value instanceof Date) {
    throw new OpaqueStateError(place, `a ${value.constructor.name}`);
  }
  const prototype = Object.getPrototypeOf(value) as object | null;
  // Whose own text names private fields has more state than its properties.
  if (prototype !== null && prototype !== Object.prototype && hasPrivateNames(prototype)) {
    throw new OpaqueStateError(place, `a ${value.constructor.name}, which has private fields`);
  }
  return value as Fields;
}

const looked = new WeakMap<object, boolean>();

function hasPrivateNames(prototype: object): boolean {
  const known = looked.get(prototype);
  if (known !== undefined) return known;
  const found = /#[A-Za-z_]/.test(String(prototype.constructor).replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, ''));
  looked.set(prototype, found);
  return found;
}
