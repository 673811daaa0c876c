/** A case: its name, what it needs, and a run over resources that are opened for it and closed behind it. */

import { ConformanceError, inTime } from './checks.ts';
import { missingCapabilities, type Capability, type FencedResource } from './resource.ts';

export interface ConformanceCase {
  /** A promise of the resource. Names are kept, so that an adapter's tests can say which cases a broken one must fail. */
  readonly name: string;
  readonly needs: readonly Capability[];
  /**
   * Rejects with a {@link ConformanceError} where the resource breaks the promise, or lacks what the case needs. `open` is called once for each
   * connection that the case needs; what it gave is closed.
   */
  readonly run: (open: () => Promise<FencedResource>) => Promise<void>;
}

/** What a case is given. */
export interface Stage {
  readonly resource: FencedResource;
  /** Another connection to the same data: another process where the resource has that, and otherwise what `open` gives. */
  readonly another: () => Promise<FencedResource>;
}

export function defineCase(
  name: string,
  needs: readonly Capability[],
  play: (stage: Stage) => Promise<void>,
): ConformanceCase {
  return {
    name,
    needs,
    async run(open) {
      const opened: FencedResource[] = [];
      const keep = async (opening: () => Promise<FencedResource>): Promise<FencedResource> => {
        const resource = await inTime('opening the resource', opening);
        opened.push(resource);
        return resource;
      };
      try {
        const resource = await keep(open);
        const missing = missingCapabilities(resource, needs);
        if (missing.length > 0) throw new ConformanceError(`the resource lacks ${missing.join(', ')}: skip this case`);
        const another = (): Promise<FencedResource> => keep(() => resource.other?.() ?? open());
        await play({ resource, another });
      } finally {
        for (const resource of opened.reverse()) await resource.close?.();
      }
    },
  };
}
