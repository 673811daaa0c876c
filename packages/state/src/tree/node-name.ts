/** Names of nodes: what may be one, a component of a path. */

import { MAX_PATH_LENGTH, pathProblem } from '@holdfast/protocol';

/** Printable ASCII but for "/": always valid, but for the names "." and "..". */
const PLAIN = /^[ -.0-~]+$/;
const MAX_NAME_LENGTH = MAX_PATH_LENGTH - '/'.length;

export function isNodeName(name: string): boolean {
  if (PLAIN.test(name)) return name.length <= MAX_NAME_LENGTH && name !== '.' && name !== '..';
  return !name.includes('/') && pathProblem(`/${name}`) === undefined && name !== '';
}
