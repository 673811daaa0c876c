/**
 * Every configuration that any server wrote, by the index and term of its entry, so that the one in force at an entry of a server's log
 * is found from the terms of that log. Who votes is worked out here once more, without the product's own arithmetic.
 */

import { decodeConfiguration, type Configuration, type Entry } from '@holdfast/raft';

/** Of each set a majority is needed. */
type VoterSets = readonly (readonly number[])[];

export interface KnownConfiguration {
  readonly index: number;
  /** Undefined for the one that the cluster begins with. */
  readonly configuration: Configuration | undefined;
  readonly voters: VoterSets;
}

export class Configurations {
  readonly #initial: KnownConfiguration;
  readonly #known = new Map<number, Map<number, KnownConfiguration>>();

  constructor(voters: readonly number[]) {
    this.#initial = { index: 0, configuration: undefined, voters: [voters] };
  }

  /** False when it is known already. */
  learn({ index, term, data }: Entry): boolean {
    const ofIndex = this.#known.get(index) ?? new Map<number, KnownConfiguration>();
    this.#known.set(index, ofIndex);
    if (ofIndex.has(term)) return false;
    const configuration = decodeConfiguration(data);
    ofIndex.set(term, { index, configuration, voters: votersOf(configuration) });
    return true;
  }

  /** Whether any log has one at that index. */
  has(index: number): boolean {
    return this.#known.has(index);
  }

  /** In force at `index` of the log that has these terms. */
  at(terms: readonly number[], index: number): KnownConfiguration {
    let latest = this.#initial;
    for (const [at, byTerm] of this.#known) {
      if (at <= latest.index || at > index) continue;
      latest = byTerm.get(terms[at] ?? 0) ?? latest;
    }
    return latest;
  }

  /** The one in force at `index` of that log, and all later ones in it. */
  since(terms: readonly number[], index: number): readonly KnownConfiguration[] {
    const later = [...this.#known].flatMap(([at, byTerm]) => (at > index ? (byTerm.get(terms[at] ?? 0) ?? []) : []));
    return [this.at(terms, index), ...later];
  }
}

export function isVoter({ voters }: KnownConfiguration, id: number): boolean {
  return voters.some((set) => set.includes(id));
}

export function isMajority(voters: readonly number[], has: (voter: number) => boolean): boolean {
  return voters.filter(has).length * 2 > voters.length;
}

function votersOf({ members }: Configuration): VoterSets {
  const coming = members.filter(({ role }) => role === 'voter').map(({ id }) => id);
  const going = members.filter(({ outgoing }) => outgoing).map(({ id }) => id);
  return going.length === 0 ? [coming] : [coming, going];
}
