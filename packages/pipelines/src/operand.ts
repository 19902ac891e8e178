/**
 * What the value of a condition on a column is.
 *
 * - **literal**: `10`, `Berlin`, `'Berlin'`.
 * - **column**: the bare name of another known column.
 * - **expression**: SQL, such as `"other" + 1`, `current_date - 7` or `to_date('2026-01-31')`.
 */
import { isSameName } from './components/component.ts';

export type Operand = { readonly kind: 'literal' | 'column' | 'expression'; readonly text: string };

const quotedText = /^'(?:[^']|'')*'$/;

/** How an expression begins. All other texts are literals, so that most values need no quotes. */
const beginnings: readonly RegExp[] = [
  /^"(?:[^"]|"")+"\s*(?:$|[-+*/|:.([])/,
  /^'(?:[^']|'')*'\s*(?:::|\|\|)/,
  /^(?:date|time|timestamp|interval)\s*'/i,
  /^(?:current_date|current_time|current_timestamp|localtimestamp|sysdate)\s*(?:$|[-+:(])/i,
  /^case\s+when\s.*\send$/is,
  /^\(\s*select\s/i,
];
const call = /^[a-z_][\w$]*(?:\.[a-z_][\w$]*)*\(/i;

/** @param columns the columns of the source; undefined if only the warehouse knows them */
export function readOperand(
  written: string,
  subject: string,
  columns: readonly string[] | undefined,
): Operand {
  const text = written.trim();
  if (quotedText.test(text)) return { kind: 'literal', text: unquote(text) };
  const isBegun = beginnings.some((each) => each.test(text)) || isCall(text);
  if (isBegun && isWhole(text)) return { kind: 'expression', text };
  const column = isSameName(text, subject) ? undefined : columns?.find((each) => isSameName(each, text));
  return column === undefined ? { kind: 'literal', text: written } : { kind: 'column', text: column };
}

export function unquote(text: string): string {
  return quotedText.test(text) ? text.slice(1, -1).replaceAll("''", "'") : text;
}

/** A call, followed by nothing or by an operator. `Acme(UK) Ltd` is not one. */
function isCall(text: string): boolean {
  const start = call.exec(text)?.[0];
  if (start === undefined) return false;
  const end = findEnd(text, start.length - 1);
  return end !== undefined && /^\s*(?:$|[-+*/|:])/.test(text.slice(end));
}

/** Whether nothing of the text can end the expression that is made of it: brackets and quotes are paired. */
export function isWhole(text: string): boolean {
  return findEnd(`(${text})`, 0) === text.length + 2;
}

/** The end of the bracket that opens at a position. Undefined if it has none, or at `;` or a comment. */
function findEnd(text: string, from: number): number | undefined {
  const token = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--|\/\*|[();'"]/g;
  token.lastIndex = from;
  let depth = 0;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [found] = match;
    if (found === '(') depth += 1;
    else if (found === ')') depth -= 1;
    else if (found.length < 2 || found === '--' || found === '/*') return undefined;
    if (depth === 0) return token.lastIndex;
  }
  return undefined;
}
