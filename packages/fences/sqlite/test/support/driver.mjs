// libsql, or the driver of the same interface that HOLDFAST_SQLITE_DRIVER names by the path of its package: one that was built by hand, since
// its binaries are in no registry.

import { createRequire } from 'node:module';
import { basename } from 'node:path';
import libsql from 'libsql';

const path = process.env.HOLDFAST_SQLITE_DRIVER;

export const driverName = path === undefined ? 'libsql' : basename(path);
/** @type {typeof libsql} */
export const Database = path === undefined ? libsql : createRequire(import.meta.url)(path);
