/**
 * What the fence keeps in the database: a floor for each scope. A transaction under a token has the row of its scope locked in share mode until
 * it ends; who raises the floor needs the row alone. So an install waits for the transactions of older holders that are under way, and those
 * of one token run side by side.
 *
 * The row is locked before anything is read without a lock: under REPEATABLE READ the first such read is the moment that all others see.
 */

export const SCHEMA_VERSION = 1;

/** @param version only tests name another one: what a later version of this package would leave behind */
export function schemaStatements(version: number = SCHEMA_VERSION): readonly string[] {
  return [
    `CREATE TABLE IF NOT EXISTS holdfast_fence_version (
  one TINYINT NOT NULL DEFAULT 1 PRIMARY KEY CHECK (one = 1),
  version INT NOT NULL
) ENGINE = InnoDB`,
    // Bytes: no collation takes two names for one.
    `CREATE TABLE IF NOT EXISTS holdfast_fence (
  scope VARBINARY(200) NOT NULL PRIMARY KEY,
  floor BIGINT NOT NULL CHECK (floor BETWEEN 1 AND 9007199254740991),
  installed_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)
) ENGINE = InnoDB`,
    `INSERT INTO holdfast_fence_version (one, version) VALUES (1, ${version})
  ON DUPLICATE KEY UPDATE version = GREATEST(version, ${version})`,
  ];
}

/** No subquery: what it reads has no lock, and would be the moment that all later reads see. */
const FLOOR = `SELECT v.version AS version, f.floor AS floor
  FROM holdfast_fence_version AS v LEFT JOIN holdfast_fence AS f ON f.scope = ?`;

export const STATEMENTS = {
  version: 'SELECT version FROM holdfast_fence_version',
  /** The scope. */
  look: FLOOR,
  /** The scope. FOR SHARE is not known to MariaDB. */
  enter: `${FLOOR} LOCK IN SHARE MODE`,
  /** The scope, and the floor three times. */
  raise: `INSERT INTO holdfast_fence (scope, floor) VALUES (?, ?)
  ON DUPLICATE KEY UPDATE
    installed_at = IF(floor < ?, CURRENT_TIMESTAMP(6), installed_at),
    floor = GREATEST(floor, ?)`,
  /**
   * Seconds without a statement. Not START TRANSACTION: behind a deadlock or a DDL statement in the body, further statements would be committed
   * one by one. This way they are in a transaction, which is rolled back.
   */
  begin: `SET @holdfast_autocommit = @@SESSION.autocommit, @holdfast_wait = @@SESSION.wait_timeout,
    @holdfast_lock_wait = @@SESSION.innodb_lock_wait_timeout,
    SESSION autocommit = 0, SESSION wait_timeout = ?`,
  /** Seconds. */
  lockWait: 'SET SESSION innodb_lock_wait_timeout = ?',
  ownLockWait: 'SET SESSION innodb_lock_wait_timeout = @holdfast_lock_wait',
  /** Whatever `completion_type` says. */
  commit: 'COMMIT AND NO CHAIN NO RELEASE',
  rollBack: 'ROLLBACK AND NO CHAIN NO RELEASE',
  /** As the application had the connection. */
  restore: `SET SESSION innodb_lock_wait_timeout = @holdfast_lock_wait, SESSION wait_timeout = @holdfast_wait,
    SESSION autocommit = @holdfast_autocommit`,
} as const;
