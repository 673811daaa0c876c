/** All planted bugs. */

import type { Mutant } from '../mutant.ts';
import { consensusMutants } from './consensus.ts';

export const MUTANTS: readonly Mutant[] = [...consensusMutants];
