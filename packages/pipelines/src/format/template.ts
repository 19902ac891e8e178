/**
 * Splits texts with `${…}`.
 *
 * - **template**: a text that may contain expressions; each is replaced by its value.
 * - **whole**: a template that is exactly one expression; its value keeps its type.
 *
 * `$T{component}` is not an expression: it refers to a component's rows and is replaced by the plan.
 */

export type Segment = { text: string } | { expression: string };

/** A template with an unclosed `${`. */
export class TemplateError extends Error {}

/** @throws TemplateError */
export function splitTemplate(template: string): Segment[] {
  const segments: Segment[] = [];
  let from = 0;
  for (;;) {
    const open = template.indexOf('${', from);
    if (open < 0) break;
    if (open > from) segments.push({ text: template.slice(from, open) });
    const close = findExpressionEnd(template, open + 2);
    segments.push({ expression: template.slice(open + 2, close) });
    from = close + 1;
  }
  if (from < template.length) segments.push({ text: template.slice(from) });
  return segments;
}

/**
 * The index of the `}` that ends the expression starting at `from`, ignoring texts, regular expressions,
 * comments and inner braces.
 */
function findExpressionEnd(template: string, from: number): number {
  const open: string[] = [];
  for (let index = from; index < template.length; index += 1) {
    const character = template[index] as string;
    const inside = open.at(-1);
    if (inside !== undefined && inside !== '{') {
      if (character === '\\') index += 1;
      else if (character === inside) open.pop();
      else if (inside === '`' && template.startsWith('${', index)) {
        open.push('{');
        index += 1;
      }
    } else if (character === '}') {
      if (open.length === 0) return index;
      open.pop();
    } else if (character === '/') index = findSlashEnd(template, from, index) - 1;
    else if ('{\'"`'.includes(character)) open.push(character);
  }
  throw new TemplateError(`"\${" has no matching "}" in: ${shorten(template.slice(from - 2))}`);
}

/** The end of the comment or regular expression that starts at `index`, or of a division. */
function findSlashEnd(source: string, from: number, index: number): number {
  if (source.startsWith('/*', index)) {
    const end = source.indexOf('*/', index + 2);
    return end < 0 ? source.length : end + 2;
  }
  if (source.startsWith('//', index)) {
    const end = source.indexOf('\n', index);
    return end < 0 ? source.length : end;
  }
  return startsRegularExpression(source, from, index) ? findRegularExpressionEnd(source, index) : index + 1;
}

/** Characters that are read before a slash: more than the longest word after which no division stands. */
const wordLength = 10;

/** After an operand a slash divides. */
function startsRegularExpression(source: string, from: number, index: number): boolean {
  let end = index;
  while (end > from && /\s/.test(source[end - 1] as string)) end -= 1;
  const text = source.slice(Math.max(from, end - wordLength), end);
  return /(?:^|[^\w$)\]}'"`])$/.test(text) || /(?:^|[^\w$.])(?:return|typeof|case|in|of|void)$/.test(text);
}

/** Characters of a regular expression in an expression. What is longer is read as a division. */
const regularExpressionLimit = 500;

function findRegularExpressionEnd(source: string, index: number): number {
  let inClass = false;
  const last = Math.min(source.length, index + regularExpressionLimit);
  for (let at = index + 1; at < last && source[at] !== '\n'; at += 1) {
    if (source[at] === '\\') at += 1;
    else if (source[at] === '[') inClass = true;
    else if (source[at] === ']') inClass = false;
    else if (source[at] === '/' && !inClass) return at + 1;
  }
  return index + 1;
}

/**
 * Turns an expression that may contain `${…}` (the advanced condition of `if`) into a single expression:
 * `${a} > 1` becomes `(a) > 1`, and `"x${a}"` becomes `("x" + String(a))`. Values are never inserted into the
 * source.
 *
 * @throws TemplateError
 */
export function unwrapExpression(source: string): string {
  let result = '';
  /** A text of the source that has not ended. */
  let part = '';
  let quote: string | undefined;
  let embedded = false;
  for (let index = 0; index < source.length; index += 1) {
    const character = source[index] as string;
    if (quote !== '`' && source.startsWith('${', index)) {
      const close = findExpressionEnd(source, index + 2);
      const inner = source.slice(index + 2, close);
      if (quote === undefined) result += `(${inner}\n)`;
      else part += `${quote} + String(${inner}\n) + ${quote}`;
      embedded = quote !== undefined;
      index = close;
    } else if (quote !== undefined) {
      part += character;
      if (character === '\\') part += source[++index] ?? '';
      else if (character === quote) {
        result += embedded ? `(${part})` : part;
        part = '';
        quote = undefined;
        embedded = false;
      }
    } else if (character === '/') {
      const end = findSlashEnd(source, 0, index);
      result += source.slice(index, end);
      index = end - 1;
    } else {
      if ('\'"`'.includes(character)) {
        quote = character;
        part = character;
      } else result += character;
    }
  }
  return result + part;
}

/** The beginning of a text, for use in a message. */
export function shorten(text: string, length = 120): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}
