/** Why an operator's request was refused that only operators can make. Nothing changed. */

const STATUS = {
  /** It would lower a fence, and does not say from which highest token. */
  CONFIRMATION_NEEDED: 409,
  /** The highest token is another one than the operator has seen. */
  FENCE_MOVED: 409,
  /** One is being taken already. */
  BACKUP_UNDER_WAY: 409,
  /** This replica does not have, or may not have, everything that was acknowledged. */
  NOT_IN_SYNC: 409,
} as const;

export type AdminErrorCode = keyof typeof STATUS;

export class AdminError extends Error {
  readonly code: AdminErrorCode;
  /** Of the HTTP answer. */
  readonly status: (typeof STATUS)[AdminErrorCode];

  constructor(code: AdminErrorCode, message: string) {
    super(message);
    this.name = 'AdminError';
    this.code = code;
    this.status = STATUS[code];
  }
}

/**
 * What must hold before the fence of a bucket that is being served is set to `to`. Who raises it fences holders off, as a newer holder does.
 * Who lowers it lets in whom it has fenced off, and must say which highest token they have seen.
 */
export function checkReset(
  bucket: string,
  { to, from }: { readonly to: number; readonly from?: number | undefined },
): (highest: number) => void {
  return (highest) => {
    // It is done already, perhaps by the same command before its answer was lost.
    if (highest === to) return;
    if (from === undefined && to > highest) return;
    if (from === undefined) {
      throw new AdminError(
        'CONFIRMATION_NEEDED',
        `the highest token of bucket "${bucket}" is ${highest}, and ${to} would let holders in that are fenced off now, while the ` +
          `server runs; make sure that none of them lives, then confirm with --from ${highest}`,
      );
    }
    if (from === highest) return;
    throw new AdminError(
      'FENCE_MOVED',
      `the highest token of bucket "${bucket}" is ${highest}, and not ${from}: somebody has been there since; look at the bucket again`,
    );
  };
}
