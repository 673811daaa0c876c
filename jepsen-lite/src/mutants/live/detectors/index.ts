/** Who must notice live mutants. */

import type { LiveDetector, LiveDetectorName } from '../live-mutant.ts';
import { directoryLock } from './directory-lock.ts';
import { diskErrors } from './disk-errors.ts';
import { durability } from './durability.ts';
import { fencedWrites } from './fenced-writes.ts';
import { lateHolder } from './late-holder.ts';
import { stopping } from './stopping.ts';
import { wrongClocks } from './wrong-clocks.ts';

export const LIVE_DETECTORS: Readonly<Record<LiveDetectorName, LiveDetector>> = {
  durability,
  'disk-errors': diskErrors,
  'directory-lock': directoryLock,
  'wrong-clocks': wrongClocks,
  'late-holder': lateHolder,
  'fenced-writes': fencedWrites,
  stopping,
};
