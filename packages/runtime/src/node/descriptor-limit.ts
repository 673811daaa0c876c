/** How many files and sockets the system lets this process have open at a time. */

import { readFileSync } from 'node:fs';

/** Undefined where nobody says. Node has raised the soft limit to the hard one by then. */
export function descriptorLimit(): number | undefined {
  return fromLinux() ?? fromReport();
}

function fromLinux(): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return numberOf(soft);
  } catch {
    // Another system.
    return undefined;
  }
}

function fromReport(): number | undefined {
  const { report } = process;
  // It would look up the names of all connections.
  Object.assign(report, { excludeNetwork: true });
  const { userLimits } = report.getReport() as { readonly userLimits?: { readonly open_files?: { soft?: unknown } } };
  return numberOf(userLimits?.open_files?.soft);
}

function numberOf(limit: unknown): number | undefined {
  if (limit === 'unlimited') return Infinity;
  const count = Number(limit);
  return limit !== undefined && Number.isSafeInteger(count) && count > 0 ? count : undefined;
}
