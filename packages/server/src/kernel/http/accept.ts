/** What a caller accepts (RFC 9110 §12.5): lists of names with weights. */

interface Wanted {
  name: string;
  /** From 0, refused, to 1. */
  weight: number;
}

/** The list of an Accept or Accept-Encoding header, in lower case, without parameters but the weight. */
function parseAccept(header: string): Wanted[] {
  return header.split(',').flatMap((item) => {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    if (name === '') return [];
    const given = parameters.find((parameter) => /^q\s*=/.test(parameter));
    const weight = given === undefined ? 1 : Number(given.slice(given.indexOf('=') + 1));
    return [{ name, weight: weight >= 0 && weight <= 1 ? weight : 1 }];
  });
}

/** The weight of the first of the names that is in the list. */
function findWeight(list: readonly Wanted[], names: readonly string[]): number | undefined {
  for (const name of names) {
    const found = list.filter((item) => item.name === name);
    if (found.length > 0) return Math.max(...found.map(({ weight }) => weight));
  }
  return undefined;
}

/** How much a media type is wanted: the most specific range that holds it decides. Undefined when none does. */
function findMediaWeight(list: readonly Wanted[], type: string): number | undefined {
  return findWeight(list, [type, type.replace(/\/.*/, '/*'), '*/*']);
}

/** Whether an answer in JSON is accepted; who names only the type of problems, or of files, is taken to mean it. */
export function acceptsJson(accept: string | undefined): boolean {
  if (accept === undefined || accept === '*/*' || accept === 'application/json') return true;
  const list = parseAccept(accept);
  if (list.length === 0) return true;
  const weight =
    findMediaWeight(list, 'application/json') ??
    findWeight(list, ['application/problem+json', 'application/octet-stream']);
  return (weight ?? 0) > 0;
}

/** Whether a page is wanted more than data. */
export function prefersHtml(accept: string | undefined): boolean {
  const list = parseAccept(accept ?? '');
  return (findMediaWeight(list, 'text/html') ?? 0) > (findMediaWeight(list, 'application/json') ?? 0);
}

/** The encoding that is wanted most; of those wanted alike, the first of `offered`. Undefined for none. */
export function chooseEncoding<Encoding extends string>(
  acceptEncoding: string,
  offered: readonly Encoding[],
): Encoding | undefined {
  const list = parseAccept(acceptEncoding);
  let best: Encoding | undefined;
  // Who wants the plain answer more says so by a weight for it.
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
