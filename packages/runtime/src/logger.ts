/** The logger that components are given. pino's instances satisfy it; so does {@link silentLogger}. */

/**
 * What an application has to give: pino's instances satisfy it, and so does `console`.
 *
 * @example
 * const client = await connect({ servers, logger: console });
 */
export interface PlainLogger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface Logger extends PlainLogger {
  child(bindings: Record<string, unknown>): Logger;
}

export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLogger,
};

/** The logger itself where it has children, else one whose children put their bindings before the fields. */
export function loggerWithChildren(logger: PlainLogger | Logger): Logger {
  if ('child' in logger && typeof logger.child === 'function') return logger;
  return bound(logger, {});
}

function bound(logger: PlainLogger, bindings: Record<string, unknown>): Logger {
  return {
    debug: (fields, message) => logger.debug({ ...bindings, ...fields }, message),
    info: (fields, message) => logger.info({ ...bindings, ...fields }, message),
    warn: (fields, message) => logger.warn({ ...bindings, ...fields }, message),
    error: (fields, message) => logger.error({ ...bindings, ...fields }, message),
    child: (more) => bound(logger, { ...bindings, ...more }),
  };
}
