/** Paths and lock names: what is allowed, and how a lock's name becomes one component of a path. */

import { MAX_LOCK_NAME_LENGTH, MAX_PATH_LENGTH } from './limits.ts';

/** What the service keeps for itself: clients read it, and create, set and delete nothing there. */
export const RESERVED_PATH = '/holdfast';
/** In it, where native locks have their containers. */
export const LOCKS_PATH = `${RESERVED_PATH}/locks`;

// ZooKeeper's rule, in UTF-16 units: control characters, surrogates and private use (D800–F8FF), and FFF0–FFFF. It also keeps
// out U+FFFD, the trace of malformed UTF-8, which two decoders might not replace in the same way.
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const FORBIDDEN = /[\u0000-\u001f\u007f-\u009f\ud800-\uf8ff\ufff0-\uffff]/;

/** Undefined when the path is valid; otherwise what is wrong with it. `sequential`: a last, empty component is allowed. */
export function pathProblem(path: string, sequential = false, maxLength = MAX_PATH_LENGTH): string | undefined {
  if (path.length > maxLength) return `longer than ${maxLength} characters`;
  if (isPlainPath(path)) return undefined;
  if (!path.startsWith('/')) return 'does not begin with "/"';
  if (path === '/') return undefined;
  if (FORBIDDEN.test(path)) return 'has a character that is not allowed';
  const components = path.slice(1).split('/');
  for (const [position, component] of components.entries()) {
    if (component === '' && !(sequential && position === components.length - 1)) return 'has an empty component';
    if (component === '.' || component === '..') return `has the component "${component}"`;
  }
  return undefined;
}

const SLASH = 0x2f;
const DOT = 0x2e;

/** Nearly every path: ASCII, no component that is empty or begins with a dot. Every node that is created is looked at. */
function isPlainPath(path: string): boolean {
  if (path.charCodeAt(0) !== SLASH) return false;
  let previous = SLASH;
  for (let position = 1; position < path.length; position += 1) {
    const code = path.charCodeAt(position);
    if (code < 0x20 || code >= 0x7f) return false;
    if (previous === SLASH && (code === SLASH || code === DOT)) return false;
    previous = code;
  }
  return previous !== SLASH;
}

/** The parent of a valid path; "/" for a child of the root and for the root itself. */
export function parentPath(path: string): string {
  const slash = path.lastIndexOf('/');
  return slash <= 0 ? '/' : path.slice(0, slash);
}

/** True at and under {@link RESERVED_PATH}, whether or not the rest of the path is valid. */
export function isReservedPath(path: string): boolean {
  if (!path.startsWith(RESERVED_PATH)) return false;
  return path.length === RESERVED_PATH.length || path.charCodeAt(RESERVED_PATH.length) === SLASH;
}

/** The last component of a valid path; empty for the root. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Undefined when a lock may be called so; otherwise what is wrong. */
export function lockNameProblem(name: string): string | undefined {
  if (name === '') return 'is empty';
  if (name.length > MAX_LOCK_NAME_LENGTH) return `longer than ${MAX_LOCK_NAME_LENGTH} characters`;
  if (name.includes('\ufffd')) return 'has U+FFFD, the mark of malformed text';
  if (!isWellFormed(name)) return 'has half of a surrogate pair';
  return undefined;
}

/** A valid lock name as one path component; `%`, `/` and what a path forbids become %XX of their UTF-8 bytes. */
export function encodeLockName(name: string): string {
  if (name === '.' || name === '..') return name.replaceAll('.', '%2E');
  let encoded = '';
  for (const character of name) {
    encoded +=
      character === '%' || character === '/' || FORBIDDEN.test(character) ? encodeURIComponent(character) : character;
  }
  return encoded;
}

/** The inverse of {@link encodeLockName}; undefined for what it never makes. */
export function decodeLockName(component: string): string | undefined {
  let name: string;
  try {
    name = decodeURIComponent(component);
  } catch {
    return undefined;
  }
  return encodeLockName(name) === component ? name : undefined;
}

/** The number of a sequential node as it is appended to a name. */
export function sequenceSuffix(sequence: number): string {
  return String(sequence).padStart(10, '0');
}

function isWellFormed(text: string): boolean {
  try {
    encodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
