/** Reads the small and regular XML that object stores answer: elements without attributes of meaning. */

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
};

/** The contents of all elements of a name, in order, as they stand. An element has none of its own name in it. */
export function listElements(xml: string, name: string): string[] {
  const found: string[] = [];
  const [start, end] = [`<${name}>`, `</${name}>`];
  for (let at = xml.indexOf(start); at >= 0; at = xml.indexOf(start, at)) {
    const from = at + start.length;
    const to = xml.indexOf(end, from);
    if (to < 0) break;
    found.push(xml.slice(from, to));
    at = to + end.length;
  }
  return found;
}

/** The text of the first element of a name; undefined if there is none. */
export function readElement(xml: string, name: string): string | undefined {
  const [first] = listElements(xml, name);
  return first === undefined ? undefined : decodeEntities(first);
}

function decodeEntities(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,4}));/gi, (whole, decimal, hex, word) => {
    if (word !== undefined) return entities[word] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
