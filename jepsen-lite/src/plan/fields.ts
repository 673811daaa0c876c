/**
 * The fields of a scenario file. Each field is declared once: what it may hold, what a wrong value is told, its type, and which host names
 * stand in it for somebody who is looked up only when a fault begins.
 */

export class ScenarioFormatError extends Error {
  constructor(problem: string) {
    super(`not a scenario that this version can replay: ${problem}`);
    this.name = 'ScenarioFormatError';
  }
}

/** The host that a name stands for now. */
export type HostOf = (name: string) => string;

export interface Field<T> {
  /** @throws ScenarioFormatError */
  readonly check: (value: unknown, what: string) => T;
  /** The value with the hosts that its names stand for. */
  resolve?(value: T, hostOf: HostOf): T;
  /** The field may be left out. */
  readonly optional?: true;
}

export type Fields = Readonly<Record<string, Field<unknown>>>;

/** What an object with these fields is. */
export type ValuesOf<F extends Fields> = { readonly [P in keyof F]: F[P] extends Field<infer T> ? T : never };

/** One field for each of the type's, so that neither can have one that the other lacks. */
export type FieldsOf<T> = { readonly [P in keyof T]-?: Field<Exclude<T[P], undefined>> };

export type Values = Readonly<Record<string, unknown>>;

export const text: Field<string> = { check: string };
/** Any finite number. */
export const number: Field<number> = { check: finite };
export const integer: Field<number> = { check: whole };
/** A whole number from 1. */
export const positive: Field<number> = {
  check(value, what) {
    if (whole(value, what) < 1) throw new ScenarioFormatError(`${what} is ${quote(value)}, and must be at least 1`);
    return value as number;
  },
};
export const boolean: Field<boolean> = {
  check(value, what) {
    if (typeof value !== 'boolean') throw new ScenarioFormatError(`${what} is ${quote(value)}, not true or false`);
    return value;
  },
};

export function choice<const T>(allowed: readonly T[]): Field<T> {
  return {
    check(value, what) {
      const found = allowed.find((each) => each === value);
      if (found !== undefined) return found;
      const choices = allowed.map((each) => quote(each)).join(', ');
      throw new ScenarioFormatError(`${what} is ${quote(value)}, and must be one of ${choices}`);
    },
  };
}

/** A whole number from 1, or this word. */
export function positiveOr<const T extends string>(word: T): Field<number | T> {
  return { check: (value, what) => (value === word ? word : positive.check(value, what)) };
}

export function optional<T>(field: Field<T>): Field<T> {
  return { ...field, optional: true };
}

/** `eachIs`: what an element is called where it is wrong. */
export function listOf<T>(
  field: Field<T>,
  eachIs = (what: string, _place: number): string => what,
): Field<readonly T[]> {
  return {
    check: (value, what) => list(value, what).map((each, place) => field.check(each, eachIs(what, place))),
    ...(field.resolve === undefined
      ? {}
      : { resolve: (values, hostOf) => values.map((each) => field.resolve?.(each, hostOf) ?? each) }),
  };
}

export function pairOf<T>(field: Field<T>): Field<readonly [T, T]> {
  const { check, ...rest } = listOf(field);
  return {
    ...(rest as Partial<Field<readonly [T, T]>>),
    check(value, what) {
      const [first, second, ...more] = check(value, what);
      if (first !== undefined && second !== undefined && more.length === 0) return [first, second];
      throw new ScenarioFormatError(`${what} is ${quote(value)}, and must have two elements`);
    },
  };
}

/** An object with all of these fields, and no others. */
export function objectOf<T extends object>(fields: FieldsOf<T>): Field<T> {
  return { check: (value, what) => checkFields(record(value, what), what, fields) as T };
}

/** Of a machine, or of whoever it stands for when a fault begins: `leader`, `holder:LOCK`. */
export const host: Field<string> = { check: string, resolve: (name, hostOf) => hostOf(name) };
export const hosts: Field<readonly string[]> = listOf(host);

/** Groups of hosts; one that a name adds to a group leaves the later ones. */
export const groups: Field<readonly (readonly string[])[]> = {
  check: listOf(hosts).check,
  resolve(named, hostOf) {
    const seen = new Set<string>();
    const take = (name: string): string[] => {
      const found = hostOf(name);
      if (seen.has(found)) return [];
      seen.add(found);
      return [found];
    };
    return named.map((group) => group.flatMap(take));
  },
};

/** One way of a link. */
export const link = { from: host, to: host };

/** How long something takes, drawn anew each time; with a mean, exponential between the bounds. */
export type Delay =
  | { readonly minMs: number; readonly maxMs: number }
  | { readonly minMs: number; readonly meanMs: number; readonly maxMs: number };

export const delay: Field<Delay> = {
  check(value, what) {
    const fields = record(value, what);
    const mean = 'meanMs' in fields ? { meanMs: number } : {};
    return checkFields(fields, what, { minMs: number, maxMs: number, ...mean }) as unknown as Delay;
  },
};

/** All of these fields, and no others. @throws ScenarioFormatError */
export function checkFields(values: Values, what: string, fields: Fields): Values {
  for (const name of Object.keys(values)) {
    if (!Object.hasOwn(fields, name)) throw new ScenarioFormatError(`${what} has the unknown field "${name}"`);
  }
  for (const [name, field] of Object.entries(fields)) {
    if (field.optional === true && !(name in values)) continue;
    field.check(values[name], `${what}: "${name}"`);
  }
  return values;
}

/** The values with the hosts that the names in them stand for. */
export function resolveHosts<V extends Values>(values: V, fields: Fields, hostOf: HostOf): V {
  const found: Record<string, unknown> = { ...values };
  for (const [name, field] of Object.entries(fields)) {
    if (field.resolve !== undefined) found[name] = field.resolve(values[name], hostOf);
  }
  return found as V;
}

/** The names of hosts in these fields, each once, in the order in which they stand there. */
export function hostsIn(values: Values, fields: Fields): readonly string[] {
  const names = new Set<string>();
  resolveHosts(values, fields, (name) => {
    names.add(name);
    return name;
  });
  return [...names];
}

export function record(value: unknown, what: string): Values {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ScenarioFormatError(`${what} is ${quote(value)}, not an object`);
  }
  return value as Values;
}

export function list(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new ScenarioFormatError(`${what} is ${quote(value)}, not a list`);
  return value;
}

function string(value: unknown, what: string): string {
  if (typeof value !== 'string') throw new ScenarioFormatError(`${what} is ${quote(value)}, not a text`);
  return value;
}

function finite(value: unknown, what: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw new ScenarioFormatError(`${what} is ${quote(value)}, not a number`);
  }
  return value;
}

function whole(value: unknown, what: string): number {
  if (!Number.isInteger(value)) throw new ScenarioFormatError(`${what} is ${quote(value)}, not a whole number`);
  return value as number;
}

export function quote(value: unknown): string {
  return value === undefined ? 'missing' : (JSON.stringify(value) ?? typeof value);
}
