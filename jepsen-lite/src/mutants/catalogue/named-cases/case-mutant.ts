/** A planted bug that brings one named case about, shorter than others: most change one file of one module, and no detector is named. */

import type { Edit } from '../../../patches/patch.ts';
import type { Mutant } from '../../mutant.ts';

interface PlantedFile {
  /** @default '@holdfast/raft' */
  readonly module?: Mutant['patches'][number]['module'];
  readonly file: string;
  readonly edits: readonly Edit[];
}

export interface CaseMutant extends Pick<Mutant, 'name' | 'breaks'>, PlantedFile {
  /** A second file that it changes. */
  readonly also?: PlantedFile;
}
