/** Settings as they were given, and their values: every refusal names the setting as its giver does, and says what is expected. */

import { addressProblem } from './address.ts';

/** Wrong arguments; the message is for the person who typed them. */
export class UsageError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'UsageError';
  }
}

/** The value of a setting as text, and what its giver calls it: a flag, a variable, a name in a file. */
export interface Given {
  readonly text: string;
  readonly as: string;
}

export type Settings = ReadonlyMap<string, Given>;

export function required(settings: Settings, name: string): string {
  const text = settings.get(name)?.text;
  if (text === undefined || text === '') throw new UsageError(`--${name} is missing; lockd --help prints what it is`);
  return text;
}

export function address(settings: Settings, name: string, use: 'listen' | 'dial'): string {
  const text = required(settings, name);
  const problem = addressProblem(text, use);
  if (problem !== undefined) throw wrong(settings, name, problem);
  return text;
}

export function integer(settings: Settings, name: string, min: number, max: number, fallback?: number): number {
  if (!settings.has(name) && fallback !== undefined) return fallback;
  const text = required(settings, name);
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max) {
    throw wrong(settings, name, `must be a whole number from ${min} to ${max}`);
  }
  return value;
}

export function boolean(settings: Settings, name: string): boolean {
  const text = settings.get(name)?.text ?? 'false';
  if (text === 'true' || text === '1') return true;
  if (text === 'false' || text === '0') return false;
  throw wrong(settings, name, 'must be true or false');
}

/** Names the setting as its giver does. */
export function wrong(settings: Settings, name: string, problem: string): UsageError {
  return new UsageError(`${calledBy(settings, name)} "${settings.get(name)?.text ?? ''}" ${problem}`);
}

export function calledBy(settings: Settings, name: string): string {
  return settings.get(name)?.as ?? `--${name}`;
}
