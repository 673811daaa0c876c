/**
 * What the fence keeps in the database: a floor for each scope. SQLite has one writer at a time: `BEGIN IMMEDIATE` takes the database's lock for
 * writing. So what a transaction under a token reads is later than everything that older holders have committed, and nothing comes between
 * its check and its commit.
 */

export const SCHEMA_VERSION = 1;

export const TABLES = `CREATE TABLE IF NOT EXISTS holdfast_fence_version (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  version INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS holdfast_fence (
  scope TEXT NOT NULL PRIMARY KEY,
  floor INTEGER NOT NULL CHECK (typeof(floor) = 'integer' AND floor BETWEEN 1 AND 9007199254740991)
) WITHOUT ROWID;
`;

export const STATEMENTS = {
  /** For how many milliseconds the driver waits for others. A PRAGMA that was prepared before would say what it was then. */
  timeout: 'SELECT timeout FROM pragma_busy_timeout',
  lock: 'BEGIN IMMEDIATE',
  /** The savepoint is there as long as the transaction is. */
  begin: 'BEGIN IMMEDIATE; SAVEPOINT holdfast_fence',
  /** It fails at its first part where the transaction is another one, or none. */
  commit: 'RELEASE holdfast_fence; COMMIT',
  /** The scope. No row: there is no version. */
  look: `SELECT v.version AS version, f.floor AS floor
    FROM holdfast_fence_version AS v LEFT JOIN holdfast_fence AS f ON f.scope = ?`,
  /** The scope, and the floor. */
  raise: `INSERT INTO holdfast_fence (scope, floor) VALUES (?, ?)
    ON CONFLICT (scope) DO UPDATE SET floor = max(floor, excluded.floor)`,
  version: 'SELECT version FROM holdfast_fence_version',
  /** The version. */
  setVersion: 'INSERT OR REPLACE INTO holdfast_fence_version (one, version) VALUES (1, ?)',
} as const;
