/**
 * No update of a fenced register is lost: no two that took effect were built on the same one, every read shows a value that was
 * written, and none shows, or is followed by, an older state than one that was known before.
 */

import type { CompletionOf, InvokeOf } from '../../history/calls.ts';
import { UNFENCED_BUCKET, type History, type HistoryEvent } from '../../history/history.ts';
import { countingRegisters, parseUpdate, type CountingRegister, type Update } from './counting-register.ts';
import { Findings } from '../findings.ts';
import type { Verdict } from '../verdict.ts';

interface Known {
  readonly number: number;
  readonly value: string | null;
  readonly event: HistoryEvent | undefined;
}

const EMPTY: Known = { number: 0, value: null, event: undefined };

class RegisterWatch {
  readonly #name: string;
  readonly #findings: Findings<'updates' | 'reads' | 'unknown'>;
  /** The latest state that somebody was answered. */
  #latest = EMPTY;
  /** What was known when each open call was invoked. */
  readonly #knownAt = new Map<number, Known>();
  /** By value: what may have been written until now. */
  readonly #written = new Map<string, InvokeOf<'put'>>();
  /** By number: what took effect, by the store's answer or by a read. */
  readonly #effective = new Map<number, Known[]>();

  constructor(register: CountingRegister, findings: Findings<'updates' | 'reads' | 'unknown'>) {
    this.#name = `${register.bucket}/${register.key}`;
    this.#findings = findings;
  }

  invoked(event: InvokeOf<'put' | 'get'>): void {
    this.#knownAt.set(event.call, this.#latest);
    if (event.f === 'put') this.#written.set(event.value, event);
  }

  completed(event: CompletionOf<'put' | 'get'>): void {
    const before = this.#knownAt.get(event.call) ?? EMPTY;
    this.#knownAt.delete(event.call);
    if (event.type === 'ok' && event.f === 'get') this.#read(event, event.value, before);
    else if (event.type === 'ok' && event.f === 'put') this.#put(event, before);
    else if (event.type === 'fail' && event.f === 'put') this.#refused(event, event.value);
    else if (event.type === 'info') this.#findings.count('unknown');
  }

  #refused(event: CompletionOf<'put'>, value: string): void {
    this.#written.delete(value);
    const number = parseUpdate(value)?.number ?? 0;
    const effect = this.#effective.get(number)?.find((known) => known.value === value);
    if (effect !== undefined) {
      this.#findings.broken(`${this.#name}: the update "${value}" was refused, and took effect`, effect.event, event);
    }
  }

  #put(event: CompletionOf<'put'>, before: Known): void {
    this.#findings.count('updates');
    const update = parseUpdate(event.value);
    if (update === undefined) return;
    if (update.token !== event.token) {
      this.#findings.broken(`${this.#name}: the update "${event.value}" was written under token ${event.token}`, event);
    }
    if (update.number <= before.number && event.value !== before.value) {
      this.#findings.broken(
        `${this.#name}: the update "${event.value}" overwrote "${before.value}", which was known before it was sent`,
        before.event,
        event,
      );
    }
    this.#took(update, event.value, event);
  }

  #read(event: CompletionOf<'get'>, value: string | null, before: Known): void {
    this.#findings.count('reads');
    const update = value === null ? undefined : parseUpdate(value);
    const written = value === null ? undefined : this.#written.get(value);
    if (value !== null && (update === undefined || written === undefined)) {
      this.#findings.broken(`${this.#name}: a read shows "${value}", which nobody has written`, event);
    }
    if ((update?.number ?? 0) < before.number) {
      this.#findings.broken(
        `${this.#name}: a read shows ${JSON.stringify(value)} after "${before.value}" was known`,
        before.event,
        event,
      );
    }
    if (update !== undefined && value !== null) this.#took(update, value, event, written);
  }

  #took(update: Update, value: string, event: HistoryEvent, written?: HistoryEvent): void {
    const effective = this.#effective.get(update.number) ?? [];
    this.#effective.set(update.number, effective);
    if (!effective.some((known) => known.value === value)) {
      const twin = effective[0];
      if (twin !== undefined) {
        this.#findings.broken(
          `${this.#name}: the updates "${twin.value}" and "${value}" were built on the same one; one of them is lost`,
          twin.event,
          event,
        );
      }
      effective.push({ number: update.number, value, event: written ?? event });
    }
    if (update.number > this.#latest.number) this.#latest = { number: update.number, value, event };
  }
}

export function checkLostUpdates(history: History): Verdict {
  const findings = new Findings('lost-updates', ['registers', 'updates', 'reads', 'unknown']);
  const watches = new Map<number, RegisterWatch>();
  for (const register of countingRegisters(history)) {
    if (register.bucket === UNFENCED_BUCKET) continue;
    findings.count('registers');
    const watch = new RegisterWatch(register, findings);
    for (const { invoke } of register.calls) watches.set(invoke.call, watch);
  }
  for (const event of history) {
    if (!('call' in event) || event.type === 'cancelled') continue;
    const watch = watches.get(event.call);
    if (watch === undefined || (event.f !== 'put' && event.f !== 'get')) continue;
    if (event.type === 'invoke') watch.invoked(event);
    else watch.completed(event);
  }
  return findings.verdict(findings.counted('updates') > 0 && findings.counted('reads') > 0);
}
