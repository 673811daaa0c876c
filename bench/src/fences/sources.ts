/** Where each pair comes from. */

import type { PairSource } from './pair.ts';
import type { PairPlan } from './plans.ts';
import { overHttp } from './stores/over-http.ts';
import { inProcess } from './stores/in-process.ts';
import { replicas } from './stores/replicas.ts';
import { files } from './targets/files.ts';
import { http } from './targets/http.ts';
import { mariaDb } from './targets/mariadb.ts';
import { postgresql } from './targets/postgresql.ts';
import { redis } from './targets/redis.ts';
import { s3 } from './targets/s3.ts';
import { sqlite } from './targets/sqlite.ts';

export const PAIR_SOURCES: Readonly<Record<PairPlan['name'], PairSource>> = {
  postgresql,
  mariadb: mariaDb,
  redis,
  sqlite,
  files,
  s3,
  http,
  'fenced-kv-engine': inProcess,
  'fenced-kv': overHttp,
  replicas,
};
