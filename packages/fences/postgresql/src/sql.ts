/**
 * What the fence keeps in the database: a floor for each scope, and functions that install and verify tokens.
 *
 * The lock of a scope is an advisory one. A transaction under a token has it shared, until it ends; who raises the floor needs it alone. So
 * an install waits for the transactions of older holders that are under way, those of one token run side by side, and none that comes
 * later overtakes an install that waits. Row locks would let them: one transaction after another could share the row, and keep it for ever.
 */

export const SCHEMA_VERSION = 1;

/** SQLSTATEs of the functions. */
export const STATES = {
  stale: 'HF001',
  tokenRequired: 'HF002',
  notInstalled: 'HF003',
  isolation: 'HF004',
  version: 'HF005',
} as const;

const FUNCTION = `LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp`;

/** Of which a transaction has entered a token, for the guards of tables. */
const SCOPES = `coalesce(nullif(current_setting('holdfast.scopes', true), ''), '[]')::jsonb`;

/** @param version only tests name another one: what a later version of this package would leave behind */
export function schemaSql(version: number = SCHEMA_VERSION): string {
  return `-- Tokens of holders, by scope. Can be run again, and by the owner of the schema only. Roles that write need USAGE on it:
--   GRANT USAGE ON SCHEMA holdfast TO app;
CREATE SCHEMA IF NOT EXISTS holdfast;

CREATE TABLE IF NOT EXISTS holdfast.fence_version (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  version integer NOT NULL
);
CREATE TABLE IF NOT EXISTS holdfast.fence (
  scope text PRIMARY KEY,
  floor bigint NOT NULL CHECK (floor BETWEEN 1 AND 9007199254740991),
  installed_at timestamptz NOT NULL DEFAULT now()
);

DO $$
DECLARE present integer := (SELECT version FROM holdfast.fence_version);
BEGIN
  IF present > ${version} THEN
    RAISE EXCEPTION 'the schema holdfast is of version %, and this is version ${version}', present
      USING ERRCODE = '${STATES.version}', DETAIL = present;
  END IF;
  INSERT INTO holdfast.fence_version (version) VALUES (${version})
    ON CONFLICT (one) DO UPDATE SET version = excluded.version;
END $$;

CREATE OR REPLACE FUNCTION holdfast.fence_key(of_scope text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  -- With a SET the server would call it, where it can write its text in its place.
  SELECT pg_catalog.hashtextextended('holdfast.fence:' OPERATOR(pg_catalog.||) of_scope, 0)
$$;

CREATE OR REPLACE FUNCTION holdfast.fence_check(client_version integer, of_scope text, of_token bigint, of_floor bigint)
RETURNS void ${FUNCTION} AS $$
BEGIN
  IF client_version <> ${version} THEN
    RAISE EXCEPTION 'the schema holdfast is of version ${version}, and the caller of version %', client_version
      USING ERRCODE = '${STATES.version}', DETAIL = ${version};
  END IF;
  IF (of_scope <> '' AND of_floor >= 1 AND of_token >= of_floor AND of_token <= 9007199254740991) IS NOT TRUE THEN
    RAISE EXCEPTION 'a token needs a scope, and is a whole number from 1 to 2^53 - 1 that is not below its floor'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
END $$;

-- What is wrong with a token that was not let in.
CREATE OR REPLACE FUNCTION holdfast.fence_refuse(client_version integer, of_scope text, of_token bigint, of_floor bigint)
RETURNS void ${FUNCTION} AS $$
DECLARE highest bigint := (SELECT floor FROM holdfast.fence WHERE scope = of_scope);
BEGIN
  PERFORM holdfast.fence_check(client_version, of_scope, of_token, of_floor);
  IF of_token < highest THEN
    RAISE EXCEPTION 'token % is stale in scope %, which has seen %', of_token, of_scope, highest
      USING ERRCODE = '${STATES.stale}', DETAIL = highest, HINT = 'A newer holder of the lock has been here: stop.';
  END IF;
  RAISE EXCEPTION 'token % is not installed in scope %', of_token, of_scope
    USING ERRCODE = '${STATES.notInstalled}', HINT = 'Call holdfast.fence_install in a transaction of its own first.';
END $$;

-- By itself, in a transaction of its own: whoever reads afterwards sees all that older holders have committed, and ever will.
CREATE OR REPLACE FUNCTION holdfast.fence_install(
  client_version integer, of_scope text, of_token bigint, of_floor bigint, wait_ms integer DEFAULT 30000
) RETURNS void ${FUNCTION} AS $$
DECLARE highest bigint;
BEGIN
  PERFORM holdfast.fence_check(client_version, of_scope, of_token, of_floor);
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'a token is installed in a transaction of its own, which is READ COMMITTED'
      USING ERRCODE = '${STATES.isolation}', HINT = 'BEGIN ISOLATION LEVEL READ COMMITTED';
  END IF;
  SELECT floor INTO highest FROM holdfast.fence WHERE scope = of_scope;
  -- A floor that can be seen was committed when all transactions below it had ended.
  IF highest IS NULL OR highest < of_floor THEN
    PERFORM set_config('lock_timeout', wait_ms::text, true);
    PERFORM set_config('idle_in_transaction_session_timeout', '10s', true);
    PERFORM set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') IN ('off', 'local');
    PERFORM pg_advisory_xact_lock(holdfast.fence_key(of_scope));
    INSERT INTO holdfast.fence AS f (scope, floor) VALUES (of_scope, of_floor)
      ON CONFLICT (scope) DO UPDATE SET floor = excluded.floor, installed_at = now() WHERE f.floor < excluded.floor;
    SELECT floor INTO highest FROM holdfast.fence WHERE scope = of_scope;
  END IF;
  IF of_token < highest THEN
    PERFORM holdfast.fence_refuse(client_version, of_scope, of_token, of_floor);
  END IF;
END $$;

-- What every READ COMMITTED transaction under a token begins with. It waits for installs alone. It is run so often that it has as few
-- expressions as can be, since the server prepares them anew in each transaction; and no SET search_path, for which it saves and restores
-- all settings: every name in it says its schema instead.
CREATE OR REPLACE FUNCTION holdfast.fence_verify(client_version integer, of_scope text, of_token bigint, of_floor bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  locked pg_catalog.text := pg_catalog.pg_advisory_xact_lock_shared(holdfast.fence_key(of_scope))::pg_catalog.text;
BEGIN
  PERFORM FROM holdfast.fence WHERE scope OPERATOR(pg_catalog.=) of_scope AND floor OPERATOR(pg_catalog.>=) of_floor
    AND floor OPERATOR(pg_catalog.<=) of_token AND client_version OPERATOR(pg_catalog.=) ${version};
  IF NOT FOUND THEN
    PERFORM holdfast.fence_refuse(client_version, of_scope, of_token, of_floor);
  END IF;
END $$;

-- The first statement of a transaction, at any level of isolation, with what its settings should be.
CREATE OR REPLACE FUNCTION holdfast.fence_enter(
  client_version integer, of_scope text, of_token bigint, of_floor bigint, idle_ms integer DEFAULT 10000
) RETURNS void ${FUNCTION} AS $$
BEGIN
  PERFORM holdfast.fence_verify(client_version, of_scope, of_token, of_floor);
  -- A snapshot may be older than the lock: a row that was changed since then is an error for those who lock it.
  PERFORM FROM holdfast.fence
    WHERE scope = of_scope AND current_setting('transaction_isolation') <> 'read committed' FOR SHARE;
  PERFORM set_config('holdfast.scopes', (${SCOPES} || to_jsonb(of_scope))::text, true);
  -- A holder that is stopped or dies in its midst must not hinder the next one for long.
  PERFORM set_config('idle_in_transaction_session_timeout', idle_ms::text, true);
  IF current_setting('client_connection_check_interval', true) = '0' THEN
    BEGIN
      PERFORM set_config('client_connection_check_interval', '1s', true);
    EXCEPTION WHEN invalid_parameter_value THEN
      NULL; -- The server's system cannot tell.
    END;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION holdfast.fence_highest(client_version integer, of_scope text) RETURNS bigint ${FUNCTION} AS $$
BEGIN
  PERFORM holdfast.fence_check(client_version, of_scope, 1, 1);
  RETURN coalesce((SELECT floor FROM holdfast.fence WHERE scope = of_scope), 0);
END $$;

-- Refuses statements in transactions that have entered no token of the scope.
CREATE OR REPLACE FUNCTION holdfast.fence_guard() RETURNS trigger ${FUNCTION} AS $$
BEGIN
  IF NOT ${SCOPES} ? TG_ARGV[0] THEN
    RAISE EXCEPTION '%.% is written under a token of the scope % only', TG_TABLE_SCHEMA, TG_TABLE_NAME, TG_ARGV[0]
      USING ERRCODE = '${STATES.tokenRequired}',
        HINT = 'Write it in a transaction that begins with holdfast.fence_enter, as fence() of @holdfast/fence-postgresql does.';
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION holdfast.fence_guard_table(client_version integer, of_table regclass, of_scope text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM holdfast.fence_check(client_version, of_scope, 1, 1);
  EXECUTE format('DROP TRIGGER IF EXISTS holdfast_fence ON %s', of_table);
  EXECUTE format(
    'CREATE TRIGGER holdfast_fence BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s '
    'FOR EACH STATEMENT EXECUTE FUNCTION holdfast.fence_guard(%L)', of_table, of_scope);
END $$;
`;
}
