/**
 * Assignments in expressions. An expression has variables of its own copy, so an assignment changes nothing and is
 * its own value.
 */

/** A name and the members that follow it with a point. */
const chain = /[\w$.]+/g;
const firstName = /^[A-Za-z_$][\w$]*/;
/** What assigns; not `==`, `=>`, `<=`. */
const operator = /^(?:=(?![=>])|(?:\*\*|<<|>>>?|&&|\|\||\?\?|[-+*/%&|^])=(?!=)|\+\+|--)/;
const prefixed = /(?:\+\+|--)\s*(?<name>[A-Za-z_$][\w$]*)/g;
/** Characters in the brackets after a name. */
const subscriptLimit = 200;

/** The first of the variables that the expression assigns to. Local variables of the expression are not meant. */
export function assignedVariable(
  expression: string,
  isVariable: (name: string) => boolean,
): string | undefined {
  const code = emptyTexts(expression);
  let declaration = -1;
  for (const { 0: written, index } of code.matchAll(chain)) {
    const [name = ''] = firstName.exec(written) ?? [];
    const isDeclared = declaration >= 0 && code.slice(declaration, index).trim() === '';
    declaration = ['let', 'const', 'var'].includes(written) ? index + written.length : -1;
    if (name === '' || isDeclared || written.includes('..') || written.endsWith('.')) continue;
    if (isVariable(name) && isAssigned(code, index + written.length)) return name;
  }
  for (const { groups } of code.matchAll(prefixed)) if (isVariable(groups?.name ?? '')) return groups?.name;
  return undefined;
}

/** @param from where the name ends, or its members do */
function isAssigned(code: string, from: number): boolean {
  let at = from;
  while (code[at] === '[') {
    const inner = code.slice(at + 1, at + 2 + subscriptLimit);
    const end = inner.indexOf(']');
    if (end < 0 || inner.slice(0, end).includes('[')) return false;
    at += end + 2;
    if (code[at] === '.') at = skip(code, at, /[\w$.]/);
  }
  const end = skip(code, at, /[\s)]/);
  return operator.test(code.slice(end, end + 5));
}

function skip(code: string, from: number, character: RegExp): number {
  let at = from;
  while (at < code.length && character.test(code[at] as string)) at += 1;
  return at;
}

/** The code with empty texts. A quote without its end stays. */
function emptyTexts(code: string): string {
  let result = '';
  let copied = 0;
  /** Without an end after one, there is none after a later one of its kind. */
  const unended = new Set<string>();
  for (let at = code.search(/['"`]/); at >= 0 && at < code.length; at += 1) {
    const character = code[at] as string;
    if (!quotes.has(character) || unended.has(character)) continue;
    const end = findTextEnd(code, at);
    if (end === undefined) {
      unended.add(character);
      continue;
    }
    result += `${code.slice(copied, at)}""`;
    copied = end + 1;
    at = end;
  }
  return result + code.slice(copied);
}

const quotes = new Set(['"', "'", '`']);

/** The position of the quote that ends the text, past characters after a backslash. */
function findTextEnd(code: string, from: number): number | undefined {
  for (let at = from + 1; at < code.length; at += 1) {
    if (code[at] === '\\') at += 1;
    else if (code[at] === code[from]) return at;
  }
  return undefined;
}

export const assigns = (variable: string) =>
  `the condition assigns to "${variable}", which changes no variable: compare with == instead`;
