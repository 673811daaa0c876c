/**
 * Which paths name anything at all. A path has one spelling: a proxy that allows `/v1/buckets/aa/` must not let through what is
 * bucket `bb` here. So it is judged as it was sent, before a URL parser removes dot segments or a router decodes names; only in a
 * key, the one name that needs it, is anything percent-encoded, and a `%2F` there is a part of the key.
 */

/** How deep in `/v1/buckets/B/keys/K` the key lies, the empty text before the first slash counted. */
const KEY_SEGMENT = 5;
/** What `http://host` a proxy or an old client puts before the path; the header `Host` says whether it is ours. */
const ORIGIN = /^https?:\/\/[^/?#]*/i;
const QUOTED_CHARACTERS = 200;

/** What is wrong with the path of a request's target, in words; undefined where nothing is. */
export function pathProblem(target: string): string | undefined {
  const [path = ''] = target.replace(ORIGIN, '').split('?', 1);
  const reason = reasonAgainst(path);
  if (reason === undefined) return undefined;
  return `the path ${JSON.stringify(path.slice(0, QUOTED_CHARACTERS))} is not in its normal form: ${reason}`;
}

function reasonAgainst(path: string): string | undefined {
  if (!path.startsWith('/')) return 'it does not begin with "/"';
  const segments = path.split('/');
  // The key may be empty here: the refusal of an empty key says more.
  if (segments.slice(1, -1).includes('')) return 'it has an empty segment ("//")';
  if (segments.some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))) return 'it has a segment "." or ".."';
  if (segments.some((segment, depth) => depth !== KEY_SEGMENT && segment.includes('%'))) {
    return 'nothing but the key may be percent-encoded';
  }
  if (normalised(path) !== path) return 'it has characters that a path cannot have; percent-encode them';
  return undefined;
}

function normalised(path: string): string | undefined {
  const url = `http://host${path}`;
  return URL.canParse(url) ? new URL(url).pathname : undefined;
}
