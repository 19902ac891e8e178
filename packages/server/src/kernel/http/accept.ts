/** Content negotiation (RFC 9110 §12.5): lists of names with weights. */

interface Preference {
  name: string;
  /** From 0 (refused) to 1. */
  weight: number;
}

/** Parses an Accept or Accept-Encoding header: lower case, without parameters other than the weight. */
function parseAccept(header: string): Preference[] {
  return header.split(',').flatMap((item) => {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    if (name === '') return [];
    const quality = parameters.find((parameter) => /^q\s*=/.test(parameter));
    const weight = quality === undefined ? 1 : Number(quality.slice(quality.indexOf('=') + 1));
    return [{ name, weight: weight >= 0 && weight <= 1 ? weight : 1 }];
  });
}

/** The weight of the first of the names that is in the list. */
function findWeight(list: readonly Preference[], names: readonly string[]): number | undefined {
  for (const name of names) {
    const found = list.filter((item) => item.name === name);
    if (found.length > 0) return Math.max(...found.map(({ weight }) => weight));
  }
  return undefined;
}

/** The weight of a media type, from the most specific range that includes it. Undefined if none does. */
function findMediaWeight(list: readonly Preference[], type: string): number | undefined {
  return findWeight(list, [type, type.replace(/\/.*/, '/*'), '*/*']);
}

/** Whether the caller accepts a JSON response. Accepting only problem+json or octet-stream counts as yes. */
export function acceptsJson(accept: string | undefined, orScim = false): boolean {
  if (accept === undefined || accept === '*/*' || accept === 'application/json') return true;
  const list = parseAccept(accept);
  if (list.length === 0) return true;
  const weight =
    (orScim ? findMediaWeight(list, scimType) : undefined) ??
    findMediaWeight(list, 'application/json') ??
    findWeight(list, ['application/problem+json', 'application/octet-stream']);
  return (weight ?? 0) > 0;
}

const scimType = 'application/scim+json';

/** The type of a successful SCIM response: its own, unless the caller asks for plain JSON. */
export function chooseScimType(accept: string | undefined): string {
  const list = parseAccept(accept ?? '');
  const [json, scim] = [findWeight(list, ['application/json']) ?? 0, findWeight(list, [scimType]) ?? 0];
  return json > scim ? 'application/json; charset=utf-8' : `${scimType}; charset=utf-8`;
}

/**
 * Whether an error on a path of SCIM is one of SCIM: always, unless the caller names plain JSON and not SCIM.
 * Clients of SCIM send `Accept` with any type too.
 */
export function prefersScimErrors(accept: string | undefined): boolean {
  const list = parseAccept(accept ?? '');
  const names = (type: string) => (findWeight(list, [type]) ?? 0) > 0;
  return names(scimType) || !(names('application/json') || names('application/problem+json'));
}

/** Whether the caller prefers server-sent events to JSON. */
export function prefersEvents(accept: string | undefined): boolean {
  const list = parseAccept(accept ?? '');
  return (findWeight(list, ['text/event-stream']) ?? 0) > (findWeight(list, ['application/json']) ?? 0);
}

/** Whether the caller prefers HTML to JSON. */
export function prefersHtml(accept: string | undefined): boolean {
  const list = parseAccept(accept ?? '');
  return (findMediaWeight(list, 'text/html') ?? 0) > (findMediaWeight(list, 'application/json') ?? 0);
}

/**
 * The encoding with the highest weight; the first of `offered` if several have the same. Undefined for no
 * encoding.
 */
export function chooseEncoding<Encoding extends string>(
  acceptEncoding: string,
  offered: readonly Encoding[],
): Encoding | undefined {
  const list = parseAccept(acceptEncoding);
  let best: Encoding | undefined;
  // `identity` with a higher weight means that the caller prefers no encoding.
  let most = findWeight(list, ['identity']) ?? 0;
  for (const encoding of offered) {
    const weight = findWeight(list, [encoding, '*']) ?? 0;
    if (weight > 0 && (best === undefined ? weight >= most : weight > most)) {
      best = encoding;
      most = weight;
    }
  }
  return best;
}
