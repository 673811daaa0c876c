/** One line of a file of events, as every format has it that writes them as JSON; and what is said of a line that is wrong. */

const MAX_SHOWN_LENGTH = 60;

export class HistoryFormatError extends Error {
  /** The first line is 1. */
  readonly line: number;

  constructor(line: number, problem: string) {
    super(`history, line ${line}: ${problem}`);
    this.name = 'HistoryFormatError';
    this.line = line;
  }
}

export type Fields = Readonly<Record<string, unknown>>;

/** @throws HistoryFormatError for what is not a JSON object */
export function parseJsonLine(text: string, line: number): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new HistoryFormatError(line, `not JSON (${error instanceof Error ? error.message : String(error)})`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new HistoryFormatError(line, `${shown(value)} is not an object`);
  }
  return value as Fields;
}

/** Any value for people, cut where it is long. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing';
  return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}…` : text;
}
