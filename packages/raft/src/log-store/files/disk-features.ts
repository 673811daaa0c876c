/**
 * What a data directory may demand of the program that opens it, as sets of bits: a program that does not know one of them would
 * misread what is there, and refuses it instead. docs/formats.md has the bits.
 */

import { hasFeature, missingFeatures, NO_FEATURES, unite, type FeatureSet } from '@holdfast/protocol';
import { EntryType, type Entry } from '../../core/index.ts';

/** A bit never changes its meaning. */
export const DiskFeature = {
  /** The log's first segments are gone: the state begins with a snapshot. */
  compacted: 2 ** 0,
  /** The log before a segment is void: it goes on behind a snapshot. */
  restart: 2 ** 1,
  /** This server may not vote. */
  voteBan: 2 ** 2,
  /** The log has entries that change who belongs to the ensemble. */
  configuration: 2 ** 3,
} as const;

/** What this version of the program knows. */
export const DISK_FEATURES: FeatureSet = unite(DiskFeature);

/** What the directory tells the programs that open it later. */
export interface DirectoryFeatures {
  readonly required: FeatureSet;
  /** **Durable** on resolve, before which nothing of them may be used. @throws DiskError */
  demand(features: FeatureSet): Promise<void>;
  /** Nothing of it is there any more. @throws DiskError */
  waive(feature: FeatureSet): Promise<void>;
}

/** For a log in no data directory, that no other version of the program will ever open. */
export function unrecordedFeatures(): DirectoryFeatures {
  return { required: NO_FEATURES, demand: async () => {}, waive: async () => {} };
}

/** What the entries demand of who reads them. */
export function featuresOfEntries(entries: readonly Entry[]): FeatureSet {
  for (const { type } of entries) if (type === EntryType.configuration) return DiskFeature.configuration;
  return NO_FEATURES;
}

export class RecordedFeatures implements DirectoryFeatures {
  #required: FeatureSet;
  readonly #write: (required: FeatureSet) => Promise<void>;
  #writing: Promise<void> = Promise.resolve();

  /** `write` makes a set durable. */
  constructor(required: FeatureSet, write: (required: FeatureSet) => Promise<void>) {
    this.#required = required;
    this.#write = write;
  }

  get required(): FeatureSet {
    return this.#required;
  }

  demand(features: FeatureSet): Promise<void> {
    return this.#change((required) => required + missingFeatures(features, required));
  }

  waive(feature: FeatureSet): Promise<void> {
    return this.#change((required) => missingFeatures(required, feature));
  }

  /** One at a time, and none that follows one that failed is lost. */
  #change(changed: (required: FeatureSet) => FeatureSet): Promise<void> {
    const changing = this.#writing.then(async () => {
      const required = changed(this.#required);
      if (required === this.#required) return;
      await this.#write(required);
      this.#required = required;
    });
    this.#writing = changing.catch(() => {});
    return changing;
  }
}

/** Whether all of `features` are demanded already. */
export function demands({ required }: DirectoryFeatures, features: FeatureSet): boolean {
  return features === NO_FEATURES || hasFeature(required, features);
}
