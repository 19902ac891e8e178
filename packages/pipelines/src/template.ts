/**
 * Text with `${…}` in it.
 *
 * - **template**: a text that may hold expressions; each is replaced by its value.
 * - **whole**: a template that is one expression and nothing else; its value keeps its type.
 *
 * `$T{component}` is no expression: it names a component's rows, and the plan replaces it.
 */

export type Segment = { text: string } | { expression: string };

/** A template whose `${` has no end. */
export class TemplateError extends Error {}

/** @throws TemplateError */
export function splitTemplate(template: string): Segment[] {
  const segments: Segment[] = [];
  let from = 0;
  for (;;) {
    const open = template.indexOf('${', from);
    if (open < 0) break;
    if (open > from) segments.push({ text: template.slice(from, open) });
    const close = endOfExpression(template, open + 2);
    segments.push({ expression: template.slice(open + 2, close) });
    from = close + 1;
  }
  if (from < template.length) segments.push({ text: template.slice(from) });
  return segments;
}

/** The index of the `}` that ends the expression beginning at `from`; quotes and inner braces are stepped over. */
function endOfExpression(template: string, from: number): number {
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
    } else if ('{\'"`'.includes(character)) open.push(character);
  }
  throw new TemplateError(`"\${" without its "}" in: ${shorten(template.slice(from - 2))}`);
}

/**
 * An expression that may itself hold `${…}` (`if`'s advanced condition) as one expression: `${a} > 1` is `(a) > 1`, and in a quoted
 * text `"x${a}"` is `("x" + String(a))`. Values are never pasted into the source.
 *
 * @throws TemplateError
 */
export function unwrapExpression(source: string): string {
  let result = '';
  let quote: string | undefined;
  let opened = 0;
  let embedded = false;
  for (let index = 0; index < source.length; index += 1) {
    const character = source[index] as string;
    if (quote !== '`' && source.startsWith('${', index)) {
      const close = endOfExpression(source, index + 2);
      const inner = source.slice(index + 2, close);
      result += quote === undefined ? `(${inner}\n)` : `${quote} + String(${inner}\n) + ${quote}`;
      embedded = quote !== undefined;
      index = close;
    } else if (quote !== undefined) {
      result += character;
      if (character === '\\') result += source[++index] ?? '';
      else if (character === quote) {
        if (embedded) result = `${result.slice(0, opened)}(${result.slice(opened)})`;
        quote = undefined;
        embedded = false;
      }
    } else {
      if ('\'"`'.includes(character)) {
        quote = character;
        opened = result.length;
      }
      result += character;
    }
  }
  return result;
}

/** The beginning of a text, for a message. */
export function shorten(text: string, length = 120): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}
