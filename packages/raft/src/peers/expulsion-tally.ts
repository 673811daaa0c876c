/**
 * What members have notified this server of its own expulsion, each on a connection that it dialled and on which it proved who it is. It
 * counts when a majority of the voters has said so: of a configuration that this server has, or of one that a speaker who knows this
 * server's secret has named. When the own log holds the removal already, though perhaps not that it is committed, one voice is enough.
 */

import { voterSets, type ServerId } from '../core/index.ts';
import type { Expulsion } from './expelled-error.ts';
import type { ExpulsionNotice } from './greeting-codec.ts';
import type { MembershipView } from './peer-admission.ts';

export interface ExpulsionVoice {
  readonly from: ServerId;
  readonly notice: ExpulsionNotice;
  /** The speaker knows this server's secret, as only members of the ensemble do that took it in. */
  readonly knowsUs: boolean;
}

type Sets = readonly (readonly ServerId[])[];

export class ExpulsionTally {
  readonly #own: ServerId;
  readonly #voices = new Map<ServerId, ExpulsionVoice>();

  constructor(own: ServerId) {
    this.#own = own;
  }

  heard(voice: ExpulsionVoice): void {
    this.#voices.set(voice.from, voice);
  }

  /** What it is that counts; undefined while nothing does. */
  verdict({ latest, committed }: MembershipView): Expulsion | undefined {
    if (this.#voices.size === 0) return undefined;
    const voices = [...this.#voices.values()];
    const removals = voices.filter(({ notice }) => notice.expulsion === 'MEMBER_REMOVED');
    if (removals.length > 0 && latest.configuration.retired.includes(this.#own)) return 'MEMBER_REMOVED';
    const all: Sets[] = [voterSets(latest.configuration), voterSets(committed)];
    for (const { knowsUs, notice } of voices) if (knowsUs) all.push(notice.voterSets);
    const said = (by: readonly ExpulsionVoice[]): boolean => all.some((sets) => this.#haveSaid(sets, by));
    if (!said(voices)) return undefined;
    // Of several voices one may be a stranger's, who has the port of a server that this one never met.
    const removed = removals.some(({ knowsUs }) => knowsUs) || said(removals);
    return removed ? 'MEMBER_REMOVED' : 'WRONG_INCARNATION';
  }

  #haveSaid(sets: Sets, voices: readonly ExpulsionVoice[]): boolean {
    const speakers = new Set(voices.map(({ from }) => from));
    return sets.length > 0 && sets.every((voters) => this.#majoritySaid(voters, speakers));
  }

  /** Of two the other one is all that can be asked for. */
  #majoritySaid(voters: readonly ServerId[], speakers: ReadonlySet<ServerId>): boolean {
    const others = voters.filter((voter) => voter !== this.#own);
    const needed = Math.min(Math.floor(voters.length / 2) + 1, others.length);
    return needed > 0 && others.filter((voter) => speakers.has(voter)).length >= needed;
  }
}
