/** A rule that holds as long as the program is right. Checked in production too: a replica that breaks one must stop before it answers. */

export class InvariantError extends Error {
  readonly invariant: string;

  constructor(name: string, details: string) {
    super(`broken invariant: ${name}${details === '' ? '' : ` (${details})`}`);
    this.name = 'InvariantError';
    this.invariant = name;
  }
}

export function invariant(condition: boolean, name: string, details?: () => string): asserts condition {
  if (!condition) throw new InvariantError(name, details?.() ?? '');
}
