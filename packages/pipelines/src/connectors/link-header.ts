/** Reads the `Link` header (RFC 8288). */

const lengthLimit = 65_536;
const target = /<([^<>]*)>/g;

/** The target of the first link with the relation. */
export function findLink(header: string, expected: string): string | undefined {
  const text = header.slice(0, lengthLimit);
  target.lastIndex = 0;
  for (let link = target.exec(text); link !== null; link = target.exec(text)) {
    const { relations, end } = readRelations(text, target.lastIndex);
    if (relations.includes(expected.toLowerCase())) return link[1];
    target.lastIndex = end;
  }
  return undefined;
}

/** The relations of the first parameter `rel` of a link, and where its parameters end. */
function readRelations(text: string, from: number): { relations: string[]; end: number } {
  let relations: string[] | undefined;
  let end = from;
  for (;;) {
    const parameter = readParameter(text, end);
    if (parameter === undefined) return { relations: relations ?? [], end };
    const { name, value } = parameter;
    if (name.toLowerCase() === 'rel' && value !== undefined) relations ??= value.toLowerCase().split(/\s+/);
    end = parameter.end;
  }
}

/** `; name`, `; name=value` or `; name="value"`. */
function readParameter(
  text: string,
  from: number,
): { name: string; value?: string; end: number } | undefined {
  const semicolon = skip(text, from, /\s/);
  if (text[semicolon] !== ';') return undefined;
  const begin = skip(text, semicolon + 1, /\s/);
  const end = skip(text, begin, /[\w!#$&+.^`|~*-]/);
  if (end === begin) return undefined;
  const name = text.slice(begin, end);
  const equals = skip(text, end, /\s/);
  if (text[equals] !== '=') return { name, end };
  const at = skip(text, equals + 1, /\s/);
  if (text[at] === '"') {
    const close = findQuote(text, at + 1);
    return close === undefined ? { name, end } : { name, value: text.slice(at + 1, close), end: close + 1 };
  }
  const valueEnd = skip(text, at, /[^\s";,]/);
  return valueEnd === at ? { name, end } : { name, value: text.slice(at, valueEnd), end: valueEnd };
}

function skip(text: string, from: number, character: RegExp): number {
  let at = from;
  while (at < text.length && character.test(text[at] as string)) at += 1;
  return at;
}

/** The end of a quoted text, past characters after a backslash. */
function findQuote(text: string, from: number): number | undefined {
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at;
  }
  return undefined;
}
